package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
)

// TestGlance: it shows what Debug shows, the journals only if asked for, and does not
// hang while a sync holds the set.
func TestGlance(t *testing.T) {
	m := memoryOf(3, readyView(0, "b"), pendingView(1, "b"))
	m.held[2] = hold{message: "quota", until: time.Unix(60, 0)}
	for _, g := range m.groups {
		if _, err := g.state.Move(group.Ready, 1, "", time.Unix(50, 0)); err != nil {
			t.Fatal(err)
		}
	}
	c := &Controller{memories: memories{byKey: map[types.NamespacedName]*memory{m.key: m}}}
	soon := func() time.Time { return time.Now().Add(20 * time.Millisecond) }

	want := c.Debug("ns/s")
	if len(want) != 1 || len(want[0].Groups) != 3 || want[0].Groups[2].WaitingFor != "another try at 1970-01-01T00:01:00Z: quota" {
		t.Fatalf("Debug: %+v", want)
	}
	if got, ok := c.Glance(m.key, true, soon()); !ok || cmp.Diff(want[0], got) != "" {
		t.Errorf("with journals: %t %s", ok, cmp.Diff(want[0], got))
	}
	if len(want[0].Groups[0].Journal) == 0 {
		t.Error("nothing stands in the journal")
	}
	if got, ok := c.Glance(m.key, false, soon()); !ok || len(got.Groups[0].Journal) != 0 || got.Groups[0].Phase != group.Ready {
		t.Errorf("without journals: %t %+v", ok, got)
	}
	if _, ok := c.Glance(types.NamespacedName{Namespace: "ns", Name: "other"}, true, soon()); ok {
		t.Error("something is known of a set that is not there")
	}
	m.mu.Lock()
	if _, ok := c.Glance(m.key, true, soon()); ok {
		t.Error("something is shown of a set that is being synced")
	}
	until := time.Now().Add(10 * time.Second)
	time.AfterFunc(5*time.Millisecond, m.mu.Unlock)
	if _, ok := c.Glance(m.key, true, until); !ok {
		t.Error("it does not wait for a sync that ends in time")
	}
	// Where the time is up, a set that is free is still shown.
	if _, ok := c.Glance(m.key, true, time.Now().Add(-time.Second)); !ok {
		t.Error("a set that is free is not shown")
	}
}

// BenchmarkGlance is how long a page holds up the sync of a set of 1000 groups.
func BenchmarkGlance(b *testing.B) {
	var views []group.View
	for i := range int32(1000) {
		views = append(views, pendingView(i, "b"))
		views[i].WaitingFor = fmt.Sprintf("pod s-%d to become Ready", i)
	}
	m := memoryOf(1000, views...)
	c := &Controller{memories: memories{byKey: map[types.NamespacedName]*memory{m.key: m}}}
	for b.Loop() {
		c.Glance(m.key, true, time.Now())
	}
}
