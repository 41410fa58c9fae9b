package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

// summary is what the pages say of a set, from what is stored of it.
type summary struct {
	Namespace, Name string
	Replicas, Size  int32
	Ready, Updated  int32
	// Partition: groups with a lower index keep their revision.
	Partition int32
	Badges    []badge
	// Troubles are what needs a person.
	Troubles []string
	Phases   []phaseCount
	// Current and Update are named alike where no rollout is under way.
	Current, Update string
	// LastCause says what last had a group taken down.
	LastCause string

	rank rank
}

// rank orders sets: those that need a person come first.
type rank int

const (
	inTrouble rank = iota
	onTheWay
	held
	well
)

// rankNames are the headings of a count of sets.
var rankNames = map[rank]string{inTrouble: "in trouble", onTheWay: "on the way", held: "paused", well: "available"}

type badge struct{ Text, Class, Title string }

type phaseCount struct {
	look
	N int32
}

func replicasOf(set *v1.LeaderWorkerSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// badges are conditions worth a word while they are True, and their classes.
var badges = []struct {
	condition, text, class string
	rank                   rank
}{
	{v1.ConditionDegraded, "Degraded", "bad", inTrouble},
	{v1.ConditionStalled, "Stalled", "bad", inTrouble},
	{v1.ConditionRolloutPaused, "Paused", "warn", held},
	{v1.ConditionUpdateInProgress, "Updating", "busy", onTheWay},
	{v1.ConditionProgressing, "Progressing", "busy", onTheWay},
	{v1.ConditionAvailable, "Available", "good", well},
}

// rankOf is how much a set needs a person, by its conditions alone.
func rankOf(set *v1.LeaderWorkerSet) rank {
	for _, b := range badges {
		if condition(set, b.condition) != nil {
			return b.rank
		}
	}
	return onTheWay
}

// condition is the condition of this type if it is True.
func condition(set *v1.LeaderWorkerSet, kind string) *metav1.Condition {
	for i := range set.Status.Conditions {
		if c := &set.Status.Conditions[i]; c.Type == kind && c.Status == metav1.ConditionTrue {
			return c
		}
	}
	return nil
}

func summarise(set *v1.LeaderWorkerSet, names revisionNames, now time.Time) summary {
	status := &set.Status
	s := summary{Namespace: set.Namespace, Name: set.Name, Replicas: replicasOf(set), Size: 1,
		Ready: status.ReadyReplicas, Updated: status.UpdatedReplicas,
		Current: names.of(status.CurrentRevision), Update: names.of(status.UpdateRevision), rank: rankOf(set)}
	if size := set.Spec.LeaderWorkerTemplate.Size; size != nil {
		s.Size = *size
	}
	steering, _ := rollout.ReadSteering(set.Annotations)
	s.Partition = *steering.Rolling(&set.Spec, s.Replicas).Partition
	for _, b := range badges {
		c := condition(set, b.condition)
		if c == nil || b.condition == v1.ConditionProgressing && condition(set, v1.ConditionUpdateInProgress) != nil {
			continue
		}
		s.Badges = append(s.Badges, badge{b.text, b.class, c.Message})
		if b.rank == inTrouble {
			s.Troubles = append(s.Troubles, fmt.Sprintf("%s for %s (%s): %s", c.Type, ago(now, c.LastTransitionTime.Time), c.Reason, shortened(c.Message, maxText)))
		}
	}
	if set.DeletionTimestamp != nil {
		s.Badges = append(s.Badges, badge{"Being deleted", "warn", ""})
	} else if status.ObservedGeneration != set.Generation {
		s.Badges = append(s.Badges, badge{"Not taken up yet", "busy", "The controller has not taken up the newest change"})
	}
	if g := status.Groups; g != nil {
		for i, n := range []int32{g.Pending, g.LeaderReady, g.WorkersStarting, g.Ready, g.Recycling, g.Failed} {
			if n > 0 {
				s.Phases = append(s.Phases, phaseCount{looks[i], n})
			}
		}
	}
	s.LastCause = lastCause(status, now)
	return s
}

// lastCause is the last failure that had a group recreated, or else the last of the
// teardowns under way.
func lastCause(s *v1.LeaderWorkerSetStatus, now time.Time) string {
	if len(s.GroupRestarts) > 0 {
		r := slices.MaxFunc(s.GroupRestarts, func(a, b v1.GroupRestarts) int { return a.LastAt.Compare(b.LastAt.Time) })
		return fmt.Sprintf("group %d recreated %s ago: %s", r.Index, ago(now, r.LastAt.Time), shortened(cmp.Or(r.Reason, "a failure"), maxText))
	}
	if len(s.Recycling) > 0 {
		r := slices.MaxFunc(s.Recycling, func(a, b v1.RecyclingGroup) int { return a.StartedAt.Compare(b.StartedAt.Time) })
		return fmt.Sprintf("group %d taken down %s ago: %s", r.Index, ago(now, r.StartedAt.Time), r.Cause)
	}
	return ""
}

// revisionNames are the numbers of stored revisions, by key.
type revisionNames map[string]int64

func namesOf(objects []*appsv1.ControllerRevision) revisionNames {
	names := revisionNames{}
	for _, o := range objects {
		key := o.Labels[v1.LabelRevision]
		names[key] = max(names[key], o.Revision)
	}
	return names
}

// of is a revision as people speak of it, like "3 (7c9f8b6d4f)".
func (n revisionNames) of(key string) string {
	switch number := n[key]; {
	case key == "":
		return "none yet"
	case number == 0:
		return key
	default:
		return fmt.Sprintf("%d (%s)", number, key)
	}
}

// short is a revision in a table.
func (n revisionNames) short(key string) string {
	if number := n[key]; number > 0 {
		return fmt.Sprint(number)
	}
	return key
}

// maxText is how much of a message the pages show, in characters: some quote others at
// length.
const maxText = 600

func shortened(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func ago(now, then time.Time) string {
	if then.IsZero() {
		return "?"
	}
	return duration.HumanDuration(max(0, now.Sub(then)))
}
