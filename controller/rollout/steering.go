package rollout

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

// Steering is what the annotations of a set ask for, by which people steer its
// rollout (CONTRACT section 8).
type Steering struct {
	// Paused: no further group is taken to the update revision.
	Paused bool
	// Partition, MaxUnavailable and MaxSurge hold instead of the spec's; nil: the
	// spec's hold.
	Partition, MaxUnavailable, MaxSurge *intstr.IntOrString
	// MinReady is how long a group must have been Ready to be available.
	MinReady time.Duration
	// ProgressDeadline is how long a rollout may go without any move; 0: for ever.
	ProgressDeadline time.Duration
	// RestartedAt is when a restart of all groups was asked for; zero: never.
	RestartedAt time.Time
	// Undo is UndoPrevious, the number of a revision, or empty.
	Undo string
	// Recycle are groups to be recreated once.
	Recycle RecycleRequest
	// DisruptionBudget is how many groups evictions may take down at a time; 0: no
	// budget is kept.
	DisruptionBudget int32
	// Recover: the restart counts of all groups are to be reset.
	Recover bool
	// HistoryLimit is how many revisions are kept besides those in use.
	HistoryLimit int
	// ForceDeleteAfter is how long after its deadline a pod is deleted by force whose
	// node is not Ready; 0: never.
	ForceDeleteAfter time.Duration
	// ReplaceAfter is how long pods of a group may find no node where it is bound to; 0:
	// for ever.
	ReplaceAfter time.Duration
}

// minReplaceAfter leaves the scheduler, and who adds nodes, time.
const minReplaceAfter = 30 * time.Second

// UndoPrevious asks for the revision that was applied before the present one.
const UndoPrevious = "previous"

// DefaultHistoryLimit is the HistoryLimit where nothing else is said, that of
// Deployments and StatefulSets.
const DefaultHistoryLimit = 10

// RecycleRequest asks for the recreation of groups once a time has come.
type RecycleRequest struct {
	Groups []IndexRange
	At     time.Time
}

// IndexRange are the indices from First to Last.
type IndexRange struct{ First, Last int32 }

// Names says whether the request is about a group.
func (r RecycleRequest) Names(index int32) bool {
	return slices.ContainsFunc(r.Groups, func(g IndexRange) bool { return g.First <= index && index <= g.Last })
}

// Rolling is the spec of the rollout, with what annotations say instead.
func (s *Steering) Rolling(spec *v1.LeaderWorkerSetSpec, replicas int32) v1.RollingUpdateConfiguration {
	zero := int32(0)
	out := v1.RollingUpdateConfiguration{Partition: &zero, MaxUnavailable: intstr.FromInt32(1)}
	if c := spec.RolloutStrategy.RollingUpdateConfiguration; c != nil {
		out = *c
		if c.Partition == nil {
			out.Partition = &zero
		}
	}
	if s.Partition != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(s.Partition, int(replicas), true)
		if at := int32(n); err == nil {
			out.Partition = &at
		}
	}
	if s.MaxUnavailable != nil {
		out.MaxUnavailable = *s.MaxUnavailable
	}
	if s.MaxSurge != nil {
		out.MaxSurge = *s.MaxSurge
	}
	return out
}

// SteeringProblem is an annotation that has no effect, because its value cannot be
// understood: the admission policy refuses it, but it may have been written before
// the policy was installed.
type SteeringProblem struct {
	Annotation, Value string
	// Want is the right form.
	Want string
}

func (p SteeringProblem) Error() string {
	return fmt.Sprintf("annotation %s: %q has no effect: it must be %s", p.Annotation, p.Value, p.Want)
}

// steers are the annotations, with the form of their values and how they are read.
var steers = map[string]struct {
	want string
	read func(s *Steering, value string) bool
}{
	v1.AnnotationPaused: {`"true"`, func(s *Steering, value string) bool {
		s.Paused = value == "true"
		return s.Paused
	}},
	v1.AnnotationPartition:      {wantGroups, readGroups(func(s *Steering) **intstr.IntOrString { return &s.Partition })},
	v1.AnnotationMaxUnavailable: {wantGroups, readGroups(func(s *Steering) **intstr.IntOrString { return &s.MaxUnavailable })},
	v1.AnnotationMaxSurge:       {wantGroups, readGroups(func(s *Steering) **intstr.IntOrString { return &s.MaxSurge })},
	v1.AnnotationMinReady: {"a duration, like 30s or 1h30m", func(s *Steering, value string) (ok bool) {
		s.MinReady, ok = readDuration(value)
		return ok
	}},
	v1.AnnotationProgressDeadline: {"a duration above 0, like 10m", func(s *Steering, value string) (ok bool) {
		s.ProgressDeadline, ok = readDuration(value)
		return ok && s.ProgressDeadline > 0
	}},
	v1.AnnotationRestartedAt: {"a time in RFC 3339, like 2026-12-01T10:00:00Z", func(s *Steering, value string) (ok bool) {
		s.RestartedAt, ok = readTime(value)
		return ok
	}},
	v1.AnnotationUndo: {"previous or the number of a revision, like 3", func(s *Steering, value string) bool {
		s.Undo = value
		return undoForm.MatchString(value)
	}},
	v1.AnnotationRecycle: {"group indexes and a time in RFC 3339, like 3,5-7@2026-12-01T10:00:00Z, in at most 4096 characters", func(s *Steering, value string) (ok bool) {
		s.Recycle, ok = readRecycle(value)
		return ok
	}},
	v1.AnnotationForceDeleteAfter: {"a duration of at least 30s, like 5m", func(s *Steering, value string) (ok bool) {
		s.ForceDeleteAfter, ok = readDuration(value)
		return ok && s.ForceDeleteAfter >= MinForceDeleteAfter
	}},
	v1.AnnotationReplaceAfter: {"a duration of at least 30s, like 10m", func(s *Steering, value string) (ok bool) {
		s.ReplaceAfter, ok = readDuration(value)
		return ok && s.ReplaceAfter >= minReplaceAfter
	}},
	v1.AnnotationDisruptionBudget: {"a number of groups of at least 1, like 1", func(s *Steering, value string) bool {
		n, ok := readNumber(value)
		s.DisruptionBudget = n
		return ok && n >= 1
	}},
	v1.AnnotationRecover: {`"true"`, func(s *Steering, value string) bool {
		s.Recover = value == "true"
		return s.Recover
	}},
	v1.AnnotationHistoryLimit: {"a number of revisions, like 10", func(s *Steering, value string) bool {
		n, ok := readNumber(value)
		if ok {
			s.HistoryLimit = int(n)
		}
		return ok
	}},
}

// ReadSteering reads the annotations of a set. What cannot be understood has no
// effect and is reported, ordered by annotation.
func ReadSteering(annotations map[string]string) (Steering, []SteeringProblem) {
	s := Steering{HistoryLimit: DefaultHistoryLimit}
	var problems []SteeringProblem
	for _, key := range slices.Sorted(maps.Keys(steers)) {
		value, present := annotations[key]
		if !present {
			continue
		}
		before := s
		if !steers[key].read(&s, value) {
			s = before
			problems = append(problems, SteeringProblem{Annotation: key, Value: value, Want: steers[key].want})
		}
	}
	return s, problems
}

const wantGroups = "a number of groups or a percentage up to 100%, like 2 or 25%"

func readGroups(field func(*Steering) **intstr.IntOrString) func(*Steering, string) bool {
	return func(s *Steering, value string) bool {
		digits, percent := strings.CutSuffix(value, "%")
		n, err := strconv.ParseUint(digits, 10, 31)
		if err != nil || !groupsForm.MatchString(value) {
			return false
		}
		v := intstr.FromInt32(int32(n))
		if percent {
			v = intstr.FromString(fmt.Sprintf("%d%%", n))
		}
		*field(s) = &v
		return true
	}
}

// readNumber reads up to nine digits, and nothing else.
func readNumber(value string) (int32, bool) {
	n, err := strconv.ParseUint(value, 10, 31)
	return int32(n), err == nil && len(value) <= 9
}

// The forms are those of the admission policy: Go alone reads more.
var (
	groupsForm   = regexp.MustCompile(`^([0-9]{1,9}|0*(100|[1-9]?[0-9])%)$`)
	durationForm = regexp.MustCompile(`^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m)|[0-9]{1,5}([.][0-9]{1,9})?h){1,3}$`)
	timeForm     = regexp.MustCompile(`^[0-9-]{10}T[0-9:]{8}([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
	undoForm     = regexp.MustCompile(`^(previous|[1-9][0-9]{0,17})$`)
	indexesForm  = regexp.MustCompile(`^[0-9]{1,7}(-[0-9]{1,7})?$`)
)

func readDuration(value string) (time.Duration, bool) {
	d, err := time.ParseDuration(value)
	return d, err == nil && durationForm.MatchString(value)
}

func readTime(value string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, value)
	// A year beyond 9999 could not be written again.
	return t.UTC(), err == nil && t.UTC().Year() <= 9999 && timeForm.MatchString(value)
}

func readRecycle(value string) (RecycleRequest, bool) {
	groups, at, _ := strings.Cut(value, "@")
	var r RecycleRequest
	var ok bool
	// Longer ones cost the admission policy seconds.
	if r.At, ok = readTime(at); !ok || len(value) > 4096 {
		return r, false
	}
	for part := range strings.SplitSeq(groups, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, _ := readNumber(first)
		to, _ := readNumber(last)
		if !indexesForm.MatchString(part) || from > to {
			return r, false
		}
		r.Groups = append(r.Groups, IndexRange{from, to})
	}
	return r, true
}
