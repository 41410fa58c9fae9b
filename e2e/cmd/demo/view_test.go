package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/controller/group"
)

var update = flag.Bool("update", false, "write the golden files anew")

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// starting is a set on its way, with every phase in it.
func starting() Snapshot {
	g := func(index int32, phase group.Phase, since time.Duration, ready int32, nodes ...string) Group {
		return Group{Index: index, Phase: phase, Since: since, Ready: ready, Size: 4, Revision: "84b8f49c64", Nodes: nodes}
	}
	groups := []Group{
		g(0, group.Ready, 3*time.Hour+59*time.Second, 4, "node-1", "node-3", "node-5", "node-6"),
		g(1, group.WorkersStarting, 65*time.Second, 1, "node-0", "node-2"),
		g(2, group.LeaderReady, 1900*time.Millisecond, 1, "node-7"),
		g(3, group.Pending, -time.Millisecond, 0),
		g(4, group.Recycling, 0, 2, "node-1", "node-2", "node-3", "node-4"),
		g(5, group.Failed, time.Minute, 0),
	}
	groups[3].Revision = ""
	return Snapshot{Name: "demo", Exists: true, Replicas: 5, Size: 4, Pods: 12, Groups: groups, Conditions: []metav1.Condition{
		condition("Available", metav1.ConditionFalse, "AllGroupsReady", "1 of 5 groups are ready"),
		condition("Progressing", metav1.ConditionTrue, "GroupsProgressing", "Replicas are progressing"),
	}}
}

func with(s Snapshot, change func(*Snapshot)) Snapshot {
	change(&s)
	return s
}

func stuck() Snapshot {
	return with(starting(), func(s *Snapshot) {
		s.Groups[3].Held = "pods \"demo-3\" is forbidden:\nexceeded quota: few, requested: pods=1, used: pods=12, limited: pods=12"
		s.Groups[5].Held = "never shown: one is enough"
		s.Conditions = append(s.Conditions, condition("Degraded", metav1.ConditionTrue, "CreateFailed", "group 3: quota exceeded"))
		s.Trouble = "connection refused"
	})
}

func many() Snapshot {
	return with(starting(), func(s *Snapshot) {
		s.Replicas = 40
		for i := int32(6); i < 40; i++ {
			s.Groups = append(s.Groups, Group{Index: i, Phase: group.Pending, Size: 4})
		}
	})
}

func gone() Snapshot { return Snapshot{Name: "demo", Pods: 20} }

func TestFrame(t *testing.T) {
	for _, row := range []struct {
		name          string
		s             Snapshot
		width, height int
		paint         Painter
	}{
		{"starting", starting(), 79, 23, Plain},
		{"colours", starting(), 79, 23, Colours},
		{"narrow", starting(), 39, 23, Plain},
		{"new", Snapshot{Name: "demo", Exists: true, Replicas: 3, Size: 4}, 79, 23, Plain},
		{"stuck", stuck(), 79, 23, Plain},
		{"many", many(), 79, 12, Plain},
		{"low", stuck(), 79, 2, Plain},
		{"gone", gone(), 79, 23, Plain},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := row.s.Frame(row.width, row.height, row.paint)
			golden(t, row.name+".golden", strings.Join(lines, "\n")+"\n")
			if len(lines) > row.height {
				t.Errorf("%d lines, have place for %d", len(lines), row.height)
			}
			for _, line := range row.s.Frame(row.width, row.height, Plain) {
				if n := utf8.RuneCountInString(line); n > row.width {
					t.Errorf("%d columns, have place for %d: %s", n, row.width, line)
				}
			}
		})
	}
}

func TestChanges(t *testing.T) {
	later := with(starting(), func(s *Snapshot) {
		for i := range s.Groups {
			s.Groups[i].Since += time.Second
		}
	})
	if lines := later.Changes(starting()); len(lines) > 0 {
		t.Errorf("time alone is no change, got %q", lines)
	}
	moved := with(starting(), func(s *Snapshot) {
		s.Groups[1].Phase, s.Groups[1].Ready = group.Ready, 4
		s.Groups = s.Groups[:5]
	})
	var all strings.Builder
	for _, step := range []struct {
		title         string
		earlier, then Snapshot
	}{
		{"from nothing", Snapshot{}, starting()},
		{"one Ready, one gone", later, moved},
		{"stuck", starting(), stuck()},
		{"still stuck", stuck(), stuck()},
		{"deleted", starting(), gone()},
	} {
		all.WriteString("# " + step.title + "\n")
		for _, line := range step.then.Changes(step.earlier) {
			all.WriteString(line + "\n")
		}
	}
	golden(t, "changes.golden", all.String())
}

func TestAvailable(t *testing.T) {
	ok := Snapshot{Exists: true, Observed: true, Conditions: []metav1.Condition{condition("Available", metav1.ConditionTrue, "", "")}}
	if !ok.Available() {
		t.Error("not available")
	}
	for name, change := range map[string]func(*Snapshot){
		"old status": func(s *Snapshot) { s.Observed = false },
		"no set":     func(s *Snapshot) { s.Exists = false },
		"False":      func(s *Snapshot) { s.Conditions[0].Status = metav1.ConditionFalse },
		"other type": func(s *Snapshot) { s.Conditions[0].Type = "Progressing" },
	} {
		s := ok
		s.Conditions = append([]metav1.Condition(nil), ok.Conditions...)
		if with(s, change).Available() {
			t.Errorf("%s: available", name)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}
