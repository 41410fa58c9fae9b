package metrics

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the labels verb and method, which are the same thing under the two
// names that Kubernetes components gave it: GET, POST, PUT, PATCH, DELETE, or
// OTHER. client-go reports the HTTP method, so a list or watch is a GET.
//
// Values of the label code: the HTTP status code of the answer, or <error> when
// there was none.

// clientLatency excludes watches, which client-go does not time.
// Labels: verb.
//
// PromQL: 99th percentile by verb:
//
//	histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket[5m])))
var clientLatency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "rest_client_request_duration_seconds",
	Help:    "Seconds from the start of a request to the API server to its answer, with retries and the wait in the client's rate limiter, as client-go measures it. Without watches.",
	Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
}, []string{"verb"})

// clientThrottle has no series when the client runs without a rate limiter.
// Labels: verb.
//
// PromQL: share of requests that waited for longer than 100 ms:
//
//	1 - sum(rate(rest_client_rate_limiter_duration_seconds_bucket{le="0.1"}[5m]))
//	  / sum(rate(rest_client_rate_limiter_duration_seconds_count[5m]))
var clientThrottle = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "rest_client_rate_limiter_duration_seconds",
	Help:    "Seconds that a request waited in the client's own rate limiter before it was sent, as client-go measures it.",
	Buckets: []float64{0.001, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
}, []string{"verb"})

// clientRequests counts each attempt, watches included.
// Labels: code, method.
//
// PromQL: share of requests that failed on the server's side or got no answer:
//
//	(sum(rate(rest_client_requests_total{code=~"5..|<error>"}[5m])) or vector(0)) / sum(rate(rest_client_requests_total[5m]))
var clientRequests = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "rest_client_requests_total",
	Help: "HTTP requests sent to the API server, retries included, by the status code of the answer, as client-go counts them.",
}, []string{"code", "method"})

// clientRetries is part of clientRequests.
// Labels: code (of the retry's own answer), verb.
//
// PromQL: retries a second, for whatever reason the server asks for them:
//
//	sum(rate(rest_client_request_retries_total[5m])) or vector(0)
var clientRetries = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "rest_client_request_retries_total",
	Help: "HTTP requests to the API server that repeated an earlier attempt, by the status code of the answer, as client-go counts them.",
}, []string{"code", "verb"})

// verb keeps the label enumerated, whatever a caller of the REST client passes.
func verb(v string) string {
	switch v {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return v
	}
	return "OTHER"
}

// latency feeds a histogram of durations from client-go, without the URL.
type latency struct{ seconds *prometheus.HistogramVec }

func (l latency) Observe(_ context.Context, v string, _ url.URL, d time.Duration) {
	l.seconds.WithLabelValues(verb(v)).Observe(d.Seconds())
}

// results feeds clientRequests from client-go, without the host.
type results struct{}

func (results) Increment(_ context.Context, code, method, _ string) {
	clientRequests.WithLabelValues(code, verb(method)).Inc()
}

// retries feeds clientRetries from client-go, without the host.
type retries struct{}

func (retries) IncrementRetry(_ context.Context, code, method, _ string) {
	clientRetries.WithLabelValues(code, verb(method)).Inc()
}
