package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/controller/invariant"
	"lws-controller/controller/sim"
)

// teller puts what happens into words. Lines that differ only in what they are
// about become one.
type teller struct {
	now func() time.Duration
	// begun is when the present command began, told the time of the last line.
	begun, told time.Duration
	lines       []line
	// revisions are the keys of the revisions, in the order of their appearance.
	revisions []string
	broken    []invariant.Violation
	// way is what a group has passed through in its present move.
	way string
	// quiet: only broken invariants are told.
	quiet bool
}

// line is "<verb> <subjects> <why>".
type line struct {
	verb     string
	subjects []string
	why      string
}

func newTeller() *teller { return &teller{now: func() time.Duration { return 0 }} }

// flush returns what was told since the last time.
func (t *teller) flush() string {
	var b strings.Builder
	for _, l := range t.lines {
		words := []string{l.verb}
		if len(l.subjects) > 0 {
			words = append(words, strings.Join(l.subjects, ", "))
		}
		if l.why != "" {
			words = append(words, l.why)
		}
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	t.lines = nil
	t.begun = t.now()
	t.told = t.begun
	if b.Len() == 0 {
		return "nothing\n"
	}
	return t.named(b.String())
}

// named has r1, r2, ... in place of the keys of revisions.
func (t *teller) named(s string) string {
	for i, key := range t.revisions {
		s = strings.ReplaceAll(s, key, fmt.Sprintf("r%d", i+1))
	}
	return s
}

// keyed is the opposite of named, for one name.
func (t *teller) keyed(name string) string {
	for i, key := range t.revisions {
		name = strings.ReplaceAll(name, fmt.Sprintf("r%d-", i+1), key+"-")
	}
	return name
}

// tell adds a line, or a subject to the last one.
func (t *teller) tell(verb, subject, why string) {
	if t.quiet {
		return
	}
	if now := t.now(); now-t.told >= 100*time.Millisecond {
		t.lines = append(t.lines, line{verb: fmt.Sprintf("after %s:", (now - t.begun).Round(100*time.Millisecond))})
		t.told = now
	}
	if n := len(t.lines); n > 0 && subject != "" {
		if last := &t.lines[n-1]; last.verb == verb && last.why == why && len(last.subjects) > 0 {
			last.subjects = append(last.subjects, subject)
			return
		}
	}
	l := line{verb: verb, why: why}
	if subject != "" {
		l.subjects = []string{subject}
	}
	t.lines = append(t.lines, l)
}

func (t *teller) line(format string, a ...any) { t.tell(fmt.Sprintf(format, a...), "", "") }

// Wrote tells of what the controller and the garbage collector write, of what
// others but people delete, and of pods that are gone.
func (t *teller) Wrote(c *invariant.Change) {
	// One that was deleted, and is made again under its key, keeps its name.
	if r, ok := c.After.(*appsv1.ControllerRevision); ok && c.Verb == invariant.Create && !slices.Contains(t.revisions, r.Labels[v1.LabelRevision]) {
		t.revisions = append(t.revisions, r.Labels[v1.LabelRevision])
	}
	switch {
	case c.By == invariant.Controller:
		t.controllerWrote(c)
	case c.By == invariant.Collector:
		t.collectorWrote(c)
	case c.By == invariant.Kubelet && c.After == nil:
		t.tell("gone pod", c.Before.GetName(), "")
	case c.Verb == invariant.Delete && c.By != invariant.User:
		t.tell(fmt.Sprintf("%s deletes %s", c.By, sim.KindOf(c.Before)), c.Before.GetName(), "")
	case c.After == nil && sim.KindOf(c.Before) == "pod":
		t.tell("gone pod", c.Before.GetName(), "")
	}
}

func (t *teller) controllerWrote(c *invariant.Change) {
	switch {
	case c.Verb == invariant.Create:
		t.tell("create "+sim.KindOf(c.After), c.After.GetName(), birth(c.After))
	case c.Verb == invariant.Delete && c.Force:
		t.tell("delete by force "+sim.KindOf(c.Before), c.Before.GetName(), "")
	case c.Verb == invariant.Delete:
		t.tell("delete "+sim.KindOf(c.Before), c.Before.GetName(), "")
	case c.Before == c.After:
		t.tell("patch "+sim.KindOf(c.After), c.After.GetName(), "without effect")
	default:
		if set, ok := c.After.(*v1.LeaderWorkerSet); ok && c.Subresource == "" {
			t.line("patch set, generation %d→%d", c.Before.GetGeneration(), set.Generation)
			return
		} else if ok {
			t.line("status %s", statusChange(&c.Before.(*v1.LeaderWorkerSet).Status, &set.Status))
			return
		}
		verb, why := patched(c)
		t.tell(verb+" "+sim.KindOf(c.After), c.After.GetName(), why)
	}
}

func (t *teller) collectorWrote(c *invariant.Change) {
	switch {
	case c.Verb == invariant.Delete:
		t.tell("collector deletes "+sim.KindOf(c.Before), c.Before.GetName(), "")
	case c.After == nil:
		t.tell("collector lets go "+sim.KindOf(c.Before), c.Before.GetName(), "")
	case sim.KindOf(c.After) != "set":
		t.tell("collector orphans "+sim.KindOf(c.After), c.After.GetName(), "")
	}
}

// birth is what a new object is.
func birth(o invariant.Object) string {
	switch o := o.(type) {
	case *corev1.Pod:
		return fmt.Sprintf("(%s, incarnation %s)", o.Labels[v1.LabelRevision], o.Annotations[v1.AnnotationIncarnation])
	case *appsv1.ControllerRevision:
		return fmt.Sprintf("(number %d)", o.Revision)
	case *policyv1.PodDisruptionBudget:
		return protects(o)
	}
	return ""
}

// patched says what a patch of something other than a status did.
func patched(c *invariant.Change) (verb, why string) {
	before, after := metav1.GetControllerOfNoCopy(c.Before), metav1.GetControllerOfNoCopy(c.After)
	switch {
	case before == nil && after != nil:
		return "adopt", ""
	case before != nil && after == nil:
		return "release", ""
	}
	if p, ok := c.After.(*corev1.Pod); ok && c.Subresource == "status" {
		for _, cond := range p.Status.Conditions {
			if string(cond.Type) == v1.ConditionGroupReady {
				return "mark", fmt.Sprintf("(GroupReady %s)", cond.Status)
			}
		}
	}
	if p, ok := c.After.(*corev1.Pod); ok && p.Annotations[v1.AnnotationRestartsSeen] != c.Before.GetAnnotations()[v1.AnnotationRestartsSeen] {
		return "note start of", fmt.Sprintf("(%s restarts seen)", p.Annotations[v1.AnnotationRestartsSeen])
	}
	if r, ok := c.After.(*appsv1.ControllerRevision); ok {
		return "patch", fmt.Sprintf("(number %d)", r.Revision)
	}
	if b, ok := c.After.(*policyv1.PodDisruptionBudget); ok {
		return "update", protects(b)
	}
	return "patch", ""
}

// protects says how many pods of which groups a budget keeps.
func protects(b *policyv1.PodDisruptionBudget) string {
	of := metav1.FormatLabelSelector(b.Spec.Selector)
	for _, r := range b.Spec.Selector.MatchExpressions {
		of = "no group"
		if len(r.Values) > 0 {
			of = "groups " + strings.Join(r.Values, " ")
		}
	}
	return fmt.Sprintf("(%s pods of %s)", b.Spec.MinAvailable.String(), of)
}

// Refused tells of a write that failed.
func (t *teller) Refused(what string, err error) { t.line("refused %s: %v", what, err) }

// Event tells of an event.
func (t *teller) Event(kind, reason, note string) { t.line("event %s %s: %s", kind, reason, note) }

// Log tells of moves between phases.
func (t *teller) Log(message string, kv []any) {
	if message != "Group changed phase" {
		return
	}
	said := map[any]any{}
	for i := 0; i+1 < len(kv); i += 2 {
		said[kv[i]] = kv[i+1]
	}
	// What was passed through unwatched is part of the next move.
	if t.way == "" {
		t.way = string(said["from"].(group.Phase))
	}
	t.way += " → " + string(said["to"].(group.Phase))
	if said["cause"] != "Observed" {
		t.tell("group", fmt.Sprint(said["group"]), fmt.Sprintf("%s (%s)", t.way, said["cause"]))
		t.way = ""
	}
}

// Process tells of starts and crashes.
func (t *teller) Process(name, what string) { t.line("%s %s", name, what) }

// Broken tells of an invariant that does not hold.
func (t *teller) Broken(v invariant.Violation) {
	t.broken = append(t.broken, v)
	quiet := t.quiet
	t.quiet = false
	t.line("VIOLATION %s", v)
	t.quiet = quiet
}
