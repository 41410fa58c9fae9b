package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
	"lws-controller/revision"
)

// Verdict is what the checker says of a record.
type Verdict struct {
	// Writes is how many were looked at, Controllers how many of them the controller
	// made, Lost how many are of nobody in the log.
	Writes, Controllers, Lost int
	// checkers by namespace: nothing that is judged reaches beyond one.
	checkers map[string]*invariant.Checker
	moments  map[types.UID][]Moment
	// ofSets: there were pods of sets.
	ofSets bool
	errs   []error
}

const (
	// linesBefore and linesAfter are told around a violation.
	linesBefore = 25
	linesAfter  = 5
	// maxErrors are told in full; what follows is rarely news.
	maxErrors = 5
)

// Judge looks at every write. lossy accepts that writes are of nobody in the log:
// where the API server was killed, that cannot be otherwise. In unrecorded namespaces the
// CRD dropped for a while what is put on record.
func (r *Record) Judge(lossy bool, unrecorded ...string) *Verdict {
	v := &Verdict{Lost: len(r.lost), checkers: map[string]*invariant.Checker{}, moments: map[types.UID][]Moment{}}
	if !lossy {
		for _, s := range r.lost {
			v.add("the audit log lacks the request that made this:\n%s", r.tell(s))
		}
		for _, gap := range r.gaps {
			v.add("the history lacks a write: %s", gap)
		}
	}
	for namespace, states := range byNamespace(r.states) {
		checker, known := invariant.New(), newKnowledge(r.nodes)
		checker.Unrecorded = slices.Contains(unrecorded, namespace)
		v.checkers[namespace] = checker
		for i, s := range states {
			v.ofSets = v.ofSets || madeForSet(s)
			c := known.change(states, r.authors, i)
			known.learn(s, c.By)
			v.Writes++
			if c.By == invariant.Controller {
				v.Controllers++
			}
			for _, broken := range checker.Observe(c, s.version) {
				v.add("namespace %s, resourceVersion %d: %s\n%s", namespace, s.version, broken, r.tellAround(states, i))
			}
			v.count(checker, s)
		}
	}
	if v.ofSets && v.Controllers == 0 {
		v.add("pods of sets were made, and no write is known as the controller's: nothing was checked")
	}
	return v
}

// Moment is how many groups of a set are Ready, and how many are alive, from a
// resourceVersion on.
type Moment struct {
	Version      int64
	Ready, Alive int32
}

// count notes how a write changed the groups of its set.
func (v *Verdict) count(checker *invariant.Checker, s *state) {
	_, uid := setOf(s)
	if s.resource != pods || uid == "" {
		return
	}
	now := Moment{Version: s.version}
	now.Ready, now.Alive = checker.Groups(uid)
	all := v.moments[uid]
	if n := len(all); n == 0 || all[n-1].Ready != now.Ready || all[n-1].Alive != now.Alive {
		v.moments[uid] = append(all, now)
	}
}

// Since are the moments of a set from a resourceVersion on, with what was then.
func (v *Verdict) Since(set types.UID, version int64) []Moment {
	all := v.moments[set]
	for i, m := range slices.Backward(all) {
		if m.Version <= version {
			return all[i:]
		}
	}
	return all
}

// madeForSet says that a pod was created which a set controls.
func madeForSet(s *state) bool {
	if s.resource != pods || s.before != nil {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(s.after)
	return ref != nil && ref.Kind == lwsv1.Kind
}

func byNamespace(states []*state) map[string][]*state {
	out := map[string][]*state{}
	for _, s := range states {
		out[s.Namespace] = append(out[s.Namespace], s)
	}
	return out
}

func (v *Verdict) add(format string, args ...any) {
	if len(v.errs) < maxErrors {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	} else if len(v.errs) == maxErrors {
		v.errs = append(v.errs, errors.New("and more"))
	}
}

// Err is what is wrong, nil if nothing is.
func (v *Verdict) Err() error { return errors.Join(v.errs...) }

// AtRest says what is wrong with a namespace in which nothing happens any more.
func (v *Verdict) AtRest(namespace string) error {
	checker := v.checkers[namespace]
	if checker == nil {
		return fmt.Errorf("nothing was ever written in namespace %s", namespace)
	}
	var errs []error
	for _, broken := range checker.AtRest(func(*revision.Content) bool { return false }) {
		errs = append(errs, errors.New(broken.String()))
	}
	return errors.Join(errs...)
}

// Counted is how often each invariant was looked at, in a namespace or in all ("").
func (v *Verdict) Counted(namespace string) map[string]int {
	out := map[string]int{}
	for ns, checker := range v.checkers {
		if namespace == "" || namespace == ns {
			for number, n := range checker.Counted() {
				out[number] += n
			}
		}
	}
	return out
}

// String says how much was looked at.
func (v *Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d writes, %d of the controller, %d of nobody in the log; invariants looked at:", v.Writes, v.Controllers, v.Lost)
	counted := v.Counted("")
	for _, number := range slices.Sorted(maps.Keys(counted)) {
		fmt.Fprintf(&b, " %s %d", number, counted[number])
	}
	return b.String()
}

// tellAround is the writes about a moment, the one in question marked.
func (r *Record) tellAround(states []*state, at int) string {
	var b strings.Builder
	for i := max(0, at-linesBefore); i < min(len(states), at+linesAfter+1); i++ {
		mark := "  "
		if i == at {
			mark = "> "
		}
		b.WriteString(mark + r.tell(states[i]) + "\n")
	}
	return b.String()
}

// tell is a write in a line.
func (r *Record) tell(s *state) string {
	who := "somebody, at some time"
	if author := r.authors[s]; author != nil {
		who = fmt.Sprintf("%s %-10s %s", author.received.Format("15:04:05.000000"), author.by(), author.verb)
		if author.subresource != "" {
			who += " " + author.subresource
		}
	}
	return fmt.Sprintf("@%d %s %s %s/%s: %s", s.version, who, s.resource, s.Namespace, s.Name, describe(s.after))
}

func describe(o invariant.Object) string {
	switch o := o.(type) {
	case nil:
		return "gone"
	case *corev1.Pod:
		return fmt.Sprintf("incarnation %s revision %s %s ready %t terminating %t", o.Annotations[lwsv1.AnnotationIncarnation],
			o.Labels[lwsv1.LabelRevision], o.Status.Phase, hasCondition(o, corev1.PodReady), o.DeletionTimestamp != nil)
	case *lwsv1.LeaderWorkerSet:
		s := &o.Status
		text := fmt.Sprintf("generation %d observed %d, exist %d ready %d updated %d established %d, update %s current %s terminating %t", o.Generation,
			s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.EstablishedReplicas, s.UpdateRevision, s.CurrentRevision, o.DeletionTimestamp != nil)
		if o.Spec.Replicas != nil {
			text = fmt.Sprintf("%d groups wanted, ", *o.Spec.Replicas) + text
		}
		for _, e := range s.Recycling {
			text += fmt.Sprintf(" recycling{%d.%d %s %s}", e.Index, e.Incarnation, e.Cause, e.Revision)
		}
		for _, g := range s.GroupRestarts {
			text += fmt.Sprintf(" restarts{%d %s %d}", g.Index, g.Revision, g.Count)
		}
		return text
	}
	return "stored"
}
