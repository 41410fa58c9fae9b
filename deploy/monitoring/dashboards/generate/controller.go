package main

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// ofJob selects what this controller serves: others have metrics of the same names, such
// as rest_client_requests_total.
const ofJob = `job=~"$job"`

// rate is that of a counter, by labels; none: all together.
func rate(counter, labels, more string) string {
	by := ""
	if labels != "" {
		by = " by (" + labels + ") "
	}
	return fmt.Sprintf("sum%s(rate(%s{%s}[$__rate_interval]))", by, counter, selector(more))
}

func selector(more string) string {
	if more == "" {
		return ofJob
	}
	return ofJob + ", " + more
}

// quantile of a histogram, by labels.
func quantile(q float64, histogram, labels string) string {
	by := strings.TrimPrefix(labels+", le", ", ")
	return fmt.Sprintf("histogram_quantile(%g, %s)", q, rate(histogram+"_bucket", by, ""))
}

func controller() board {
	return board{
		file: "controller.json", uid: controllerUID, title: "LeaderWorkerSet / Controller",
		about: "The controller itself: who leads, how soon it acts, what it writes, its queue, its caches, and what it takes of the machine.",
		variables: []cog.Builder[dashboard.VariableModel]{
			// All is the jobs found, not any: see ofJob.
			several(values("job", "Job", "lws_controller_build_info", "job"), ""),
		},
		rows: []row{
			{"Now", controllerNumbers()},
			{"Latency", controllerLatency()},
			{"Writes and requests", controllerWrites()},
			{"Queue", controllerQueue()},
			{"Leadership, caches, bugs", controllerCaches()},
			{"Process", controllerProcess()},
		},
	}
}

// throttled is the share of requests that the API server put off, or that waited for more
// than 100 ms in the client's own limiter.
const throttled = `(
    (sum(rate(rest_client_requests_total{` + ofJob + `, code="429"}[$__rate_interval])) or vector(0))
  + (sum(rate(rest_client_rate_limiter_duration_seconds_count{` + ofJob + `}[$__rate_interval])) or vector(0))
  - (sum(rate(rest_client_rate_limiter_duration_seconds_bucket{` + ofJob + `, le="0.1"}[$__rate_interval])) or vector(0))
) / (sum(rate(rest_client_requests_total{` + ofJob + `}[$__rate_interval])) > 0) or vector(0)`

func controllerNumbers() []panel {
	one := func(title, about, alert, unit, expr string, n number) panel {
		return panel{title: title, about: about, alert: alert, unit: unit, width: 4, height: 4, look: n, queries: []query{{expr, title}}}
	}
	versions := one("Replicas", "Replicas that are scraped, by version. Fewer than the Deployment has: some are down, or not reached. Two versions for long: an upgrade is stuck.", "", units.Short, "", number{limits: plain})
	versions.queries = []query{{"count by (version) (lws_controller_build_info{" + ofJob + "})", "{{version}}"}}
	return []panel{
		one("Leading", "Replicas that sync sets: 1 for each controller. 0: nobody does anything. See the logs of the replicas and the lease.", "LWSControllerNotLeading", units.Short,
			"sum(lws_controller_leading{"+ofJob+"}) or vector(0)", number{limits: from("red").then(1, "green")}),
		versions,
		one("Fenced", "Whether nothing is written since another controller of LeaderWorkerSets is at work. Remove one of the two.", "LWSControllerFenced", units.NoUnit,
			"max(lws_controller_fenced{"+ofJob+"})", number{limits: plain, words: yesNo("red")}),
		one("Oldest news", "Age of the oldest news about any set that no sync has taken in. Milliseconds when all is well; above 15 s something fails or hangs.", "LWSControllerNotSyncing", units.Seconds,
			"max(lws_set_unsynced_seconds{"+ofJob+"})", number{limits: from("green").then(5, "orange").then(15, "red")}),
		one("Syncs that fail", "Share of the syncs that end in an error and are tried again. The log says \"Sync failed\" and why; a few conflicts are no harm.", "LWSControllerNotSyncing", units.PercentUnit,
			rate("lws_sync_duration_seconds_count", "", `result="error"`)+"\n  / ("+rate("lws_sync_duration_seconds_count", "", "")+" > 0) or vector(0)", number{limits: from("green").then(0.05, "orange").then(0.5, "red")}),
		one("Throttled", "Share of the requests that are held up, by the API server or by --kube-api-qps. Apply deploy/flowcontrol, or raise the limit.", "LWSControllerThrottled", units.PercentUnit,
			throttled, number{limits: from("green").then(0.02, "orange").then(0.1, "red")}),
	}
}

func controllerLatency() []panel {
	return []panel{
		{title: "From news to the first write", unit: units.Seconds, width: 8, height: 8, look: heat{},
			about:   "How long it takes from news about a set, such as a pod that failed, to the first write because of it. Milliseconds; more: see queue and requests below, the slower of the two is why.",
			queries: []query{{buckets("lws_event_to_write_duration_seconds", ofJob), "{{le}}"}}},
		{title: "Syncs", unit: units.Seconds, width: 8, height: 8, look: lines{},
			about: "How long one sync of a set takes, its requests included. Long together with requests: the API server; alone: very large sets, or too little CPU.",
			queries: []query{{quantile(0.5, "lws_sync_duration_seconds", "result"), "{{result}}, half"},
				{quantile(0.99, "lws_sync_duration_seconds", "result"), "{{result}}, 99 %"}}},
		{title: "Requests, 99th percentile", unit: units.Seconds, width: 8, height: 8, look: lines{},
			about:   "How long the API server takes to answer, retries and waiting in the client's limiter included. High for all verbs: the API server or etcd is overloaded; for writes only: admission webhooks.",
			queries: []query{{quantile(0.99, "rest_client_request_duration_seconds", "verb"), "{{verb}}"}}},
	}
}

func controllerWrites() []panel {
	return []panel{
		{title: "Writes by kind", unit: units.OpsPerSecond, width: 8, height: 8, look: lines{stacked: true},
			about:   "Writes a second. At rest there are none. Writes that go on for ever: something else writes back, see which kind, and the managed fields of such an object.",
			queries: []query{{rate("lws_writes_total", "kind, verb", ""), "{{verb}} {{kind}}"}}},
		{title: "Writes that were not accepted", unit: units.OpsPerSecond, width: 8, height: 8, look: lines{stacked: true},
			about:   "What came of them instead. conflict, exists and gone in small numbers are no harm; refused: quota, webhooks or missing rights; throttled: the API server's priority and fairness; error: no answer.",
			queries: []query{{orNone(rate("lws_writes_total", "result", `result!="accepted"`), "result"), "{{result}}"}}},
		{title: "Requests by code", unit: units.RequestsPerSecond, width: 8, height: 8, look: lines{stacked: true},
			about: "All HTTP requests, watches included, by the code of the answer. 5xx and <error>: the API server is down or cannot be reached; 403: rights are missing; 429: too many.",
			alert: "LWSControllerThrottled", queries: []query{{rate("rest_client_requests_total", "code", ""), "{{code}}"}}},
		{title: "Held up", unit: units.PercentUnit, width: 12, height: 8, look: lines{most: 1},
			about: "Share of the requests that were answered 429, or waited for more than 100 ms in the client's limiter. It slows all down and loses nothing: apply deploy/flowcontrol, raise --kube-api-qps.",
			alert: "LWSControllerThrottled", queries: []query{{throttled, "throttled"}}},
		{title: "Retries by the client", unit: units.RequestsPerSecond, width: 12, height: 8, look: lines{stacked: true},
			about:   "Requests that repeated an earlier one since the server asked for it. More than a few: the API server is short of room, or restarts.",
			queries: []query{{orNone(rate("rest_client_request_retries_total", "code", ""), "code"), "{{code}}"}}},
	}
}

func controllerQueue() []panel {
	return []panel{
		{title: "Depth", unit: units.Short, width: 6, height: 8, look: lines{},
			about:   "Sets that wait for a worker. It may jump up after a restart; above 0 for long: too few workers for what happens, or each sync takes too long.",
			queries: []query{{"max by (name) (workqueue_depth{" + ofJob + "})", "{{name}}"}}},
		{title: "Wait, 99th percentile", unit: units.Seconds, width: 6, height: 8, look: lines{},
			about:   "How long a set waits in the queue before a worker takes it. Above some milliseconds: see depth and busy workers.",
			queries: []query{{quantile(0.99, "workqueue_queue_duration_seconds", "name"), "{{name}}"}}},
		{title: "Busy workers", unit: units.Short, width: 6, height: 8, look: lines{},
			about:   "How many workers are at work on average. Near the number of workers that there are: give it more, if the API server has room.",
			queries: []query{{rate("workqueue_work_duration_seconds_sum", "name", ""), "{{name}}"}}},
		{title: "Longest at work", unit: units.Seconds, width: 6, height: 8, look: lines{},
			about: "How long the worker has been busy that has been busy longest. Above a minute it hangs: take a goroutine profile (--pprof), report it, and delete the pod of the leader.",
			alert: "LWSControllerNotSyncing", queries: []query{{"max by (name) (workqueue_longest_running_processor_seconds{" + ofJob + "})", "{{name}}"}}},
		{title: "Added to the queue", unit: units.CountsPerSecond, width: 24, height: 7, look: lines{},
			about:   "Sets a second that were added at once, or for a later time (planned wake-ups and failures alike). High at rest: something changes pods or sets all the time; see who in the audit log.",
			queries: []query{{rate("workqueue_adds_total", "name", ""), "{{name}}, at once"}, {rate("workqueue_retries_total", "name", ""), "{{name}}, later"}}},
	}
}

func controllerCaches() []panel {
	return []panel{
		{title: "Leaders", unit: units.NoUnit, width: 6, height: 8, look: states{words: yesNo("blue")},
			about: "Which replica leads, over time. Changes without an upgrade: the leader cannot renew its lease, since the API server is slow or it has too little CPU; its log says so.",
			alert: "LWSControllerNotLeading", queries: []query{{"max by (instance) (lws_controller_leading{" + ofJob + "})", "{{instance}}"}}},
		{title: "Cache lag", unit: units.CountsPerSecond, width: 6, height: 8, look: lines{},
			about:   "Syncs a second that were put off as a cache had not seen a write yet. A few during changes are no harm; many for long: watches lag behind, since the API server is overloaded.",
			queries: []query{{rate("lws_stale_cache_delays_total", "cache", ""), "{{cache}}"}}},
		{title: "Not synced for", unit: units.Seconds, width: 6, height: 8, look: lines{toSet: true},
			about: "The ten sets with the oldest news that no sync has taken in. One set: its syncs fail, see the log; all: fenced, throttled, or the API server is down.",
			alert: "LWSControllerNotSyncing", queries: []query{{"topk(10, max by (namespace, name) (lws_set_unsynced_seconds{" + ofJob + "}))", "{{namespace}}/{{name}}"}}},
		{title: "Bugs", unit: units.Short, width: 6, height: 8, look: number{limits: bad},
			about: "Moves of groups for which the controller has no transition, in the time shown, and renewals of the lease that needed a read first. The first is a bug: please report it, with the log. The second: somebody else writes the lease.",
			queries: []query{{"sum(increase(lws_group_undeclared_transitions_total{" + ofJob + "}[$__range])) or vector(0)", "undeclared transitions"},
				{"sum(increase(leader_election_slowpath_total{" + ofJob + "}[$__range])) or vector(0)", "slow renewals"}}},
	}
}

func controllerProcess() []panel {
	each := func(title, about, unit string, queries ...query) panel {
		return panel{title: title, about: about, unit: unit, width: 6, height: 8, look: lines{}, queries: queries}
	}
	gauge := func(metric string) string { return fmt.Sprintf("max by (instance) (%s{%s})", metric, ofJob) }
	return []panel{
		each("Memory", "What the process has of the machine, and what of it the Go heap uses. It grows with the number of pods; near the limit of the container: raise that before it is killed.", units.BytesIEC,
			query{gauge("process_resident_memory_bytes"), "{{instance}}"}, query{gauge("go_memstats_heap_inuse_bytes"), "{{instance}}, heap"}),
		each("CPU", "Cores in use. At rest near 0. At the limit of the container: everything gets slow, the lease included; raise it.", units.Short,
			query{rate("process_cpu_seconds_total", "instance", ""), "{{instance}}"}),
		each("Goroutines", "Level but for the workers. A steady rise is a leak: take a goroutine profile (--pprof) and report it.", units.Short,
			query{gauge("go_goroutines"), "{{instance}}"}),
		each("File descriptors", "Open files and connections: some dozens. A steady rise is a leak, please report it; at the limit nothing can be opened any more.", units.Short,
			query{gauge("process_open_fds"), "{{instance}}"}, query{gauge("process_max_fds"), "{{instance}}, limit"}),
	}
}
