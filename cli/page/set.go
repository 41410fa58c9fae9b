package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

const (
	// pageGroups is how many groups of a set stand on one page.
	pageGroups = 1000
	// pageMoves is how many moves between phases are shown of all of them; the page of
	// a group has all that its journal keeps.
	pageMoves = 1200
	// pageText is how many characters the reasons of all groups take, each at least
	// leastText.
	pageText  = 160_000
	leastText = 120
	// lastCauses is how many causes of setbacks are listed.
	lastCauses = 12
)

type setView struct {
	frame
	summary
	Facts      []fact
	Conditions []conditionRow
	Revisions  []revisionRow
	// Known: the groups are known one by one.
	Known  bool
	Cells  []cell
	Causes []cause
	Groups []groupRow
	// AllGroups is how many there are, First and Last which of them are shown.
	AllGroups, First, Last int
	Earlier, Later         string
}

type fact struct{ Name, Value string }

type conditionRow struct {
	Type, Status, Reason, Message string
	Since                         string
	Class                         string
}

// revisionRow is a stored revision and how many groups have it, by phase.
type revisionRow struct {
	Name, Role, Age string
	Phases          []phaseCount
}

// groupRow is a line of the table of groups.
type groupRow struct {
	Index       int32
	Name        string // with a plus before those beyond the wanted ones
	Class       string
	Letter      string
	Phase       group.Phase
	Since       string
	SinceAt     string
	Revision    string
	Incarnation int64
	Pods        string
	Restarts    string
	WaitingFor  string
	Last        move
	Earlier     []move
}

// move is a transition in words.
type move struct {
	From, To  group.Phase
	Class     string
	Cause     string
	Ago, When string
}

// newMove is the transition at a place in a journal. Where a failure had the group taken
// down, it names what was seen of it.
func newMove(journal []group.Record, at int, now time.Time) move {
	t := journal[at].Transition
	m := move{From: t.From, To: t.To, Class: lookOf(t.To).Class, Cause: t.Cause, Ago: ago(now, t.At), When: stamp(t.At)}
	if t.Cause == string(v1.RecycleFailure) || t.To == group.Failed {
		if e := culprit(journal[:at]); e != nil {
			m.Cause += ": " + e.Describe()
		}
	}
	m.Cause = shortened(m.Cause, leastText)
	return m
}

// culprit is the last event that shows a pod in trouble, nil if there is none.
func culprit(journal []group.Record) *group.Event {
	for _, r := range slices.Backward(journal) {
		if e := r.Event; e != nil && (e.Kind == group.PodGone || e.Pod != nil && (e.Pod.Phase == corev1.PodFailed || e.Pod.Died != nil || e.Pod.Restarts > 0)) {
			return e
		}
	}
	return nil
}

// cause is why groups were taken down or ceased to be Ready: what has befallen many of
// them is told once.
type cause struct {
	move
	// Groups are the indices of those last concerned, the newest first; More is how many
	// others there are.
	Groups []int32
	More   int
}

// causeGroups is how many groups are named for each cause.
const causeGroups = 10

// setback is a transition that takes a group from where it should be.
func setback(t *group.Transition) bool {
	return t.From == group.Ready || t.To == group.Recycling || t.To == group.Failed
}

// causes are the last setbacks of groups, the newest first.
func causes(groups []controller.DebugGroup, now time.Time) []cause {
	type place struct {
		g  *controller.DebugGroup
		at int
	}
	var places []place
	for i := range groups {
		for at, r := range groups[i].Journal {
			if r.Transition != nil && setback(r.Transition) {
				places = append(places, place{&groups[i], at})
			}
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return b.g.Journal[b.at].Transition.At.Compare(a.g.Journal[a.at].Transition.At)
	})
	var out []cause
	told := map[group.Transition]int{}
	for _, p := range places {
		t := p.g.Journal[p.at].Transition
		alike := group.Transition{From: t.From, To: t.To, Cause: t.Cause}
		i, known := told[alike]
		if !known {
			if len(out) == lastCauses {
				continue
			}
			i = len(out)
			told[alike] = i
			out = append(out, cause{move: newMove(p.g.Journal, p.at, now)})
		}
		switch c := &out[i]; {
		case slices.Contains(c.Groups, p.g.Index):
		case len(c.Groups) < causeGroups:
			c.Groups = append(c.Groups, p.g.Index)
		default:
			c.More++
		}
	}
	return out
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// facts are what holds for a rollout of the set.
func facts(set *v1.LeaderWorkerSet) []fact {
	replicas := replicasOf(set)
	steering, problems := rollout.ReadSteering(set.Annotations)
	r := steering.Rolling(&set.Spec, replicas)
	out := []fact{
		{"Budget", fmt.Sprintf("%s unavailable, %s more", r.MaxUnavailable.String(), r.MaxSurge.String())},
		{"Startup", string(cmp.Or(set.Spec.StartupPolicy, v1.LeaderCreatedStartupPolicy))},
		{"Restart policy", string(cmp.Or(set.Spec.LeaderWorkerTemplate.RestartPolicy, v1.RecreateGroupOnPodRestart))},
		{"Generation", fmt.Sprintf("%d, taken up %d", set.Generation, set.Status.ObservedGeneration)},
		{"Established", fmt.Sprintf("%d groups", set.Status.EstablishedReplicas)},
	}
	if n := set.Spec.LeaderWorkerTemplate.MaxGroupRestarts; n != nil {
		out = append(out, fact{"Restart budget", fmt.Sprintf("%d for each group", *n)})
	}
	if *r.Partition > 0 {
		out = append(out, fact{"Partition", fmt.Sprintf("groups below %d keep their revision", *r.Partition)})
	}
	if steering.ProgressDeadline > 0 {
		out = append(out, fact{"Progress deadline", steering.ProgressDeadline.String()})
	}
	if steering.MinReady > 0 {
		out = append(out, fact{"Min ready", steering.MinReady.String()})
	}
	for _, p := range problems {
		out = append(out, fact{"Without effect", shortened(p.Error(), maxText)})
	}
	return out
}

func conditions(set *v1.LeaderWorkerSet, now time.Time) []conditionRow {
	var out []conditionRow
	for _, c := range set.Status.Conditions {
		row := conditionRow{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: shortened(c.Message, maxText), Since: ago(now, c.LastTransitionTime.Time), Class: "off"}
		if c.Status == metav1.ConditionTrue {
			row.Class = "busy"
			for _, b := range badges {
				if b.condition == c.Type {
					row.Class = b.class
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// maxRevisions is how many revisions are listed, the newest first.
const maxRevisions = 20

func revisions(objects []*appsv1.ControllerRevision, status *v1.LeaderWorkerSetStatus, groups []controller.DebugGroup, now time.Time) []revisionRow {
	objects = slices.SortedFunc(slices.Values(objects), func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name))
	})
	names := namesOf(objects)
	have := map[string]map[group.Phase]int32{}
	for i := range groups {
		g := &groups[i]
		if have[g.Revision] == nil {
			have[g.Revision] = map[group.Phase]int32{}
		}
		have[g.Revision][g.Phase]++
	}
	var out []revisionRow
	for _, o := range objects[:min(len(objects), maxRevisions)] {
		key := o.Labels[v1.LabelRevision]
		row := revisionRow{Name: names.of(key), Age: ago(now, o.CreationTimestamp.Time)}
		var roles []string
		if key == status.UpdateRevision {
			roles = append(roles, "update")
		}
		if key == status.CurrentRevision {
			roles = append(roles, "current")
		}
		row.Role = strings.Join(roles, ", ")
		for _, l := range looks {
			if n := have[key][l.Phase]; n > 0 {
				row.Phases = append(row.Phases, phaseCount{l, n})
			}
		}
		out = append(out, row)
	}
	return out
}

// restartsOf are the recreations of groups because of failures, the last entry of each.
func restartsOf(status *v1.LeaderWorkerSetStatus) map[int32]*v1.GroupRestarts {
	out := map[int32]*v1.GroupRestarts{}
	for i := range status.GroupRestarts {
		r := &status.GroupRestarts[i]
		if before := out[r.Index]; before == nil || before.LastAt.Before(&r.LastAt) {
			out[r.Index] = r
		}
	}
	return out
}

// rows are the lines of the groups, those first that are not Ready.
func rows(groups []controller.DebugGroup, set *v1.LeaderWorkerSet, names revisionNames, now time.Time) (out []groupRow) {
	restarts := restartsOf(&set.Status)
	most := max(1, pageMoves/max(1, len(groups)))
	text := min(maxText, max(leastText, pageText/max(1, len(groups))))
	for i := range groups {
		g := &groups[i]
		row := newRow(g, replicasOf(set), restarts[g.Index], names, text, now)
		for at := len(g.Journal) - 1; at >= 0 && len(row.Earlier) < most-1; at-- {
			switch {
			case g.Journal[at].Transition == nil:
			case row.Last.To == "":
				row.Last = newMove(g.Journal, at, now)
			default:
				row.Earlier = append(row.Earlier, newMove(g.Journal, at, now))
			}
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(a, b groupRow) int { return order(a.Phase) - order(b.Phase) })
	return out
}

// order is that of the table: what needs help comes first.
func order(p group.Phase) int {
	switch p {
	case group.Failed:
		return 0
	case group.Ready:
		return 2
	}
	return 1
}

// newRow is the line of a group, its texts of so many characters.
func newRow(g *controller.DebugGroup, replicas int32, r *v1.GroupRestarts, names revisionNames, text int, now time.Time) groupRow {
	l := lookOf(g.Phase)
	row := groupRow{Index: g.Index, Name: fmt.Sprint(g.Index), Class: l.Class, Letter: l.Letter, Phase: g.Phase, Since: "–",
		Revision: "–", Incarnation: g.Incarnation, Pods: "–", WaitingFor: shortened(g.WaitingFor, text)}
	if g.Index >= replicas {
		row.Name = "+" + row.Name
	}
	if !g.Since.IsZero() {
		row.Since, row.SinceAt = ago(now, g.Since), stamp(g.Since)
	}
	if g.Revision != "" {
		row.Revision = names.short(g.Revision)
	}
	if g.Size > 0 {
		row.Pods = fmt.Sprintf("%d/%d", g.Pods, g.Size)
	}
	if r != nil {
		row.Restarts = fmt.Sprintf("%d, last %s ago: %s", r.Count, ago(now, r.LastAt.Time), shortened(r.Reason, text))
	}
	return row
}
