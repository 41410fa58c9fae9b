// Package serve is the HTTP server of the controller: probes, metrics, profiles,
// the status page, and what is known of the groups. It decides nothing and writes nothing.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"lws-controller/cli/page"
	"lws-controller/controller"
	"lws-controller/informers"
)

// Server answers probes, scrapes and questions about groups. It is read-only.
type Server struct {
	// Lease notices a leader that has failed to renew and did not exit.
	Lease *leaderelection.HealthzAdaptor
	// Leading says that this replica holds the lease, or needs none.
	Leading atomic.Bool
	// Leader says who holds the lease, as far as this replica knows. Nil: there is no
	// election, or it has not begun.
	Leader atomic.Pointer[func() string]

	controller *controller.Controller
	caches     *informers.Informers
	mux        *http.ServeMux
}

// Options are what a Server answers from.
type Options struct {
	Controller *controller.Controller
	Caches     *informers.Informers
	Metrics    http.Handler
	// Profiles serves Go profiles under /debug/pprof/.
	Profiles bool
}

const (
	headerTimeout = 10 * time.Second
	// shutdownTimeout is what a page under way gets. A connection on which nothing was
	// asked yet, as clients open in advance, would take 5 s to count as idle.
	shutdownTimeout = 2 * time.Second
	// leaseGrace is how long after the end of its lease a leader may live.
	leaseGrace = 20 * time.Second
)

// New makes a server.
func New(o Options) *Server {
	s := &Server{controller: o.Controller, caches: o.Caches, Lease: leaderelection.NewLeaderHealthzAdaptor(leaseGrace), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /healthz", s.check(map[string]func(*http.Request) error{"lease": s.Lease.Check}))
	s.mux.HandleFunc("GET /readyz", s.check(map[string]func(*http.Request) error{"lease": s.Lease.Check, "caches": s.cachesFilled}))
	s.mux.Handle("GET /metrics", o.Metrics)
	s.mux.HandleFunc("GET /debug/groups", s.groups)
	(&page.Pages{Caches: o.Caches, Controller: o.Controller, Leading: s.Leading.Load, Leader: s.leader}).Register(s.mux)
	if o.Profiles {
		s.mux.HandleFunc("/debug/pprof/", pprof.Index)
		s.mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		s.mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		s.mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		s.mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return s
}

func (s *Server) leader() string {
	if leader := s.Leader.Load(); leader != nil {
		return (*leader)()
	}
	return ""
}

// Listen binds the address and returns the function that serves until the context
// ends.
func (s *Server) Listen(ctx context.Context, address string) (func() error, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	klog.FromContext(ctx).Info("Pages are served", "address", l.Addr().String())
	h := &http.Server{Handler: s.mux, ReadHeaderTimeout: headerTimeout}
	return func() error {
		ended := make(chan struct{})
		defer context.AfterFunc(ctx, func() {
			defer close(ended)
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			if h.Shutdown(stopping) != nil {
				h.Close()
			}
		})()
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("HTTP server on %s: %w", address, err)
		}
		<-ended
		return nil
	}, nil
}

// check answers 200 if all checks pass, else 500 with those that do not. With
// ?verbose it lists all.
func (s *Server) check(checks map[string]func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		report, failed := "", false
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			if err := checks[name](r); err != nil {
				failed = true
				report += fmt.Sprintf("[-] %s: %v\n", name, err)
			} else {
				report += fmt.Sprintf("[+] %s ok\n", name)
			}
		}
		_, verbose := r.URL.Query()["verbose"]
		switch {
		case failed:
			http.Error(w, report, http.StatusInternalServerError)
		case verbose:
			fmt.Fprintf(w, "%sleading: %t\n", report, s.Leading.Load())
			if why := s.controller.Fenced(); why != "" {
				fmt.Fprintf(w, "fenced, nothing is written: %s\n", why)
			}
			fmt.Fprintln(w, "ok")
		default:
			fmt.Fprintln(w, "ok")
		}
	}
}

func (s *Server) cachesFilled(*http.Request) error {
	if !s.caches.HasSynced() {
		return errors.New("still being filled")
	}
	return nil
}

// groups answers what the controller knows of all groups. Only the leader knows
// anything.
//
//	/debug/groups?set=<namespace>/<name>   of one set only
func (s *Server) groups(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	only := query.Get("set")
	if query.Del("set"); len(query) > 0 {
		http.Error(w, "the only parameter is set=<namespace>/<name>", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(map[string]any{
		"leading": s.Leading.Load(), "fenced": s.controller.Fenced(), "sets": s.controller.Debug(only)})
}
