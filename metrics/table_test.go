package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

// full is a registry with everything that the controller serves.
func full() *prometheus.Registry {
	return with(state(2, 3))
}

// with is a registry of a controller in this state.
func with(s State) *prometheus.Registry {
	reg := New("v1.2.3")
	for _, set := range s.Sets {
		(&Recorder{}).Known(set.NamespacedName)
	}
	reg.MustRegister(NewCollector(func() State { return s }))
	return reg
}

// state has sets of some groups, in which every gauge has a series.
func state(sets, groups int) State {
	now := time.Unix(2000, 0)
	s := State{Now: now, Leading: true, Unsynced: map[types.NamespacedName]time.Duration{}}
	for i := range sets {
		set := &Set{NamespacedName: types.NamespacedName{Namespace: "namespace", Name: fmt.Sprintf("leaderworkerset-%d", i)},
			Phases: map[group.Phase]int32{group.Ready: int32(groups)}, Oldest: map[group.Phase]time.Time{},
			Desired: int32(groups), Exist: int32(groups), Ready: int32(groups), Updated: int32(groups), Progress: 1,
			RolloutStart: now.Add(-time.Minute), RolloutEnd: now.Add(-time.Second), Current: "567d7d8bdd", Update: "76cc6d8855",
			Degraded: "ReplicaRestartBudgetExceeded", Restarts: 2,
			Groups: []Group{{"0", group.Ready, now}}}
		for _, phase := range phases {
			set.Oldest[phase] = now
		}
		s.Sets = append(s.Sets, set)
	}
	return s
}

const (
	page   = "../docs/metrics.md"
	marker = "<!-- What follows is written by: go test ./metrics -update -->\n"
)

// TestPage compares the list in docs/metrics.md with what is registered.
func TestPage(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, got, found := strings.Cut(string(data), marker)
	want := listed(t)
	if *update {
		if err := os.WriteFile(page, []byte(head+marker+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || got != want {
		t.Errorf("%s is not up to date: go test ./metrics -update", page)
	}
}

// units are told by the last part of a name.
var units = []struct{ suffix, unit string }{
	{"_timestamp_seconds", "Unix time in seconds"}, {"_seconds_total", "seconds"}, {"_seconds", "seconds"},
	{"_bytes", "bytes"}, {"_ratio", "0 to 1"}, {"_info", "always 1"}, {"", ""},
}

// listed is the table of all metrics, and a query for each.
func listed(t *testing.T) string {
	t.Helper()
	(&Recorder{}).Wrote("Pod", "create", nil)
	for _, v := range []string{"a"} { // what client-go drives has no series otherwise
		for _, h := range []*prometheus.HistogramVec{clientLatency, clientThrottle, queueWait, queueWork} {
			h.WithLabelValues(v)
		}
		for _, g := range []*prometheus.GaugeVec{queueDepth, queueUnfinished, queueLongest, leaderStatus} {
			g.WithLabelValues(v)
		}
		for _, c := range []*prometheus.CounterVec{queueAdds, queueRetries, leaderSlowPath} {
			c.WithLabelValues(v)
		}
		clientRequests.WithLabelValues(v, v)
		clientRetries.WithLabelValues(v, v)
	}
	reg := full()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	docs, described := declarations(t), describe(reg)
	var table, queries strings.Builder
	table.WriteString("\n| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n")
	for _, f := range families {
		doc, ours := docs[f.GetName()]
		if !ours {
			continue
		}
		kind, unit := strings.ToLower(f.GetType().String()), ""
		for _, u := range units {
			if strings.HasSuffix(f.GetName(), u.suffix) {
				unit = u.unit
				break
			}
		}
		if unit == "" && f.GetType() == dto.MetricType_COUNTER {
			unit = "count"
		}
		labels := described[f.GetName()].labels
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", f.GetName(), kind, unit, strings.Join(labels, ", "), cell(f.GetHelp()))
		about, query, _ := strings.Cut(doc, "PromQL:")
		title, query, _ := strings.Cut(query, "\n\n")
		fmt.Fprintf(&queries, "\n### %s\n\n%s\n\n%s\n\n```promql\n%s\n```\n", f.GetName(),
			strings.Join(strings.Fields(spelled(about, f.GetName())), " "), sentence(title), dedent(query))
	}
	return table.String() + "\n## Queries\n\nEach of them is run in the end-to-end tests, on a real Prometheus, and must return data.\n" + queries.String()
}

func cell(s string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(s) }

var firstWord = regexp.MustCompile(`^[a-z][A-Za-z]*`)

// spelled has a comment begin with the name of the metric instead of the variable's.
func spelled(comment, name string) string {
	comment = strings.NewReplacer("<", "&lt;").Replace(strings.TrimSpace(comment))
	return firstWord.ReplaceAllString(comment, "`"+name+"`")
}

func sentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

func dedent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// TestGaugesOfSets shows what the collector serves, and what it leaves out.
func TestGaugesOfSets(t *testing.T) {
	set := types.NamespacedName{Namespace: "ns", Name: "web"}
	now := time.Unix(2000, 500_000_000)
	s := State{Now: now, Leading: true, Fenced: true,
		Unsynced: map[types.NamespacedName]time.Duration{{Namespace: "ns", Name: "new"}: 3 * time.Second, set: 1500 * time.Millisecond},
		Sets: []*Set{{NamespacedName: set, Phases: map[group.Phase]int32{group.Ready: 2, group.Pending: 1},
			Oldest:  map[group.Phase]time.Time{group.Ready: time.Unix(1000, 0), group.Pending: time.Unix(1999, 0)},
			Desired: 3, Exist: 4, Ready: 2, Updated: 1, Progress: 0.25, Current: "a", Update: "b", RolloutStart: time.Unix(1990, 0),
			Paused: true, Degraded: "FailedCreate", Restarts: 7}}}
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(func() State { return s }))
	got := "# in the middle of a rollout\n" + series(t, reg, "lws_", true)
	lint(t, reg)
	s.Sets[0].RolloutEnd, s.Sets[0].Paused, s.Sets[0].Degraded, s.Sets[0].Stalled = time.Unix(1996, 0), false, "", true
	s.Sets[0].Groups = []Group{{"0", group.Ready, time.Unix(1000, 0)}, {"1", group.Ready, time.Unix(1500, 0)}}
	got += "# after it, with groups\n" + series(t, reg, "lws_", true)
	lint(t, reg)
	s = State{}
	got += "# standing by\n" + series(t, reg, "lws_", true)
	golden(t, "sets", got)
}

// TestCounters shows what a recorder counts, and that a set that is gone is dropped.
func TestCounters(t *testing.T) {
	reg := start(t)
	web, old := types.NamespacedName{Namespace: "ns", Name: "web"}, types.NamespacedName{Namespace: "ns", Name: "old"}
	var nobody *Recorder
	for _, r := range []*Recorder{nobody, {}} {
		r.Known(web)
		r.Known(old)
		r.Moved(group.Pending, group.LeaderReady, 3*time.Second, true)
		r.Moved(group.LeaderReady, group.WorkersStarting, 0, false)
		r.Undeclared()
		r.Started(4 * time.Second)
		r.Recreating(web, "Failure", group.FailurePodFailed)
		r.Recreating(web, "Update", "")
		r.Recreating(web, "ScaleDown", "")
		r.Recreating(old, "Failure", group.FailurePodGone)
		r.Recreated("Failure", 5*time.Second)
		r.Recreated("SomethingNew", time.Second)
		r.RolledOut(time.Minute)
		r.Synced(time.Millisecond, nil)
		r.Synced(time.Second, fmt.Errorf("no"))
		r.Answered(2 * time.Millisecond)
		r.Stale(CacheSets)
		r.Forget(old)
	}
	got := series(t, reg, "lws_group_", true) + series(t, reg, "lws_rollout_", true) + series(t, reg, "lws_sync_", true) +
		series(t, reg, "lws_event_", true) + series(t, reg, "lws_stale_", true)
	zero := regexp.MustCompile(`^counter lws_group_transitions_total.* 0$`)
	got = strings.Join(slices.DeleteFunc(strings.SplitAfter(got, "\n"), func(l string) bool { return zero.MatchString(strings.TrimSpace(l)) }), "")
	golden(t, "counters", got)
	lint(t, reg)
}

// What a scrape may cost with 1000 groups in 50 sets.
const (
	scrapeTime  = 50 * time.Millisecond
	scrapeBytes = 1 << 20
)

// TestScrape scrapes as Prometheus does, and counts the series that docs/metrics.md
// speaks of. The best of some tries is taken: the machine has other things to do.
func TestScrape(t *testing.T) {
	count := func(sets, groups int) int {
		start(t)
		n := 0
		for line := range strings.Lines(scrape(with(state(sets, groups)))) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n
	}
	few, many, large := count(1, 20), count(50, 20), count(50, 1000)
	if many != large {
		t.Errorf("%d series with 20 groups a set, %d with 1000: it must not depend on groups", many, large)
	}
	perSet := (many - few) / 49
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprintf("at most %d series for each set", perSet-1); !strings.Contains(string(doc), said) {
		t.Errorf("%s does not say: %s", page, said) // without that of the flag
	}

	reg := with(state(50, 20))
	best, size := time.Hour, 0
	for range 5 {
		began := time.Now()
		size = len(scrape(reg))
		best = min(best, time.Since(began))
	}
	t.Logf("1000 groups in 50 sets: %s, %d bytes, %d series, of which %d for each set", best, size, many, perSet)
	if size > scrapeBytes || best > scrapeTime && !raced {
		t.Errorf("a scrape takes %s and %d bytes, want at most %s and %d", best, size, scrapeTime, scrapeBytes)
	}
}

// scrape is what Prometheus gets.
func scrape(reg *prometheus.Registry) string {
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: reg}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}
