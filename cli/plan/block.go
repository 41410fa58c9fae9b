package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lws-controller/controller/rollout"
)

// attentionBefore is what can be said before anything happens.
func attentionBefore(s *Snapshot, w *world, in rollout.Input) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	outdated, proven, serving, notReady := 0, false, false, 0
	for i := range in.Groups {
		v := &in.Groups[i]
		if v.HasPods && v.Index < in.Replicas && v.Revision != in.Update {
			outdated++
		}
		proven = proven || v.Revision == in.Update && v.EverReady()
		serving = serving || v.Revision != in.Update && v.AllReady
		if v.HasPods && !v.AllReady && v.Index < in.Replicas {
			if notReady++; notReady <= 5 {
				why := ""
				if v.WaitingFor != "" {
					why = ": it waits for " + v.WaitingFor
				}
				say("group %d is not Ready now%s", v.Index, why)
			}
		}
	}
	if notReady > 5 {
		say("%d more groups are not Ready now", notReady-5)
	}
	if notReady > 0 && !w.options.AssumeRecovery {
		say("what is not Ready now is taken to stay so until it is recreated (--assume-recovery takes it to become Ready)")
	}
	if why := w.known.Withheld(); why != nil {
		say("%s", why.Message)
	}
	if in.Paused && outdated > 0 {
		say("the rollout is paused: no group gets the new revision")
	}
	if in.Partition > 0 && outdated > 0 {
		say("partition: groups below %d keep their revision", in.Partition)
	}
	if w.broken[in.Update] {
		say("no group of revision %s is taken to become Ready", in.Update)
	}
	if outdated > 0 && serving && !proven && !in.Paused {
		say("no group of revision %s has been Ready yet: until one is, it is given to no more than %d at a time",
			in.Update, max(1, in.Budget.Unavailable+in.Budget.Surge))
	}
	if in.MinReady > 0 {
		say("a group counts as available only when it has been Ready for %s", in.MinReady)
	}
	if in.ProgressDeadline > 0 {
		say("the rollout is stalled, and takes no further group, when nothing moves for %s", in.ProgressDeadline)
	}
	if s.Nodes == nil {
		say("whether the pods fit the nodes is not known")
	}
	return out
}

// attentionAfter is what has shown itself on the way.
func attentionAfter(s *Snapshot, w *world, tally rollout.Tally) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	in := w.known.Input(w.now)
	short := slices.Sorted(maps.Keys(w.homeless))
	for i, index := range short {
		if i == 5 {
			say("%d more groups do not fit the nodes at some time", len(short)-5)
			break
		}
		what := "group"
		if index >= in.Replicas {
			what = "surge group"
		}
		say("capacity: %s %d: %s", what, index, w.homeless[index])
	}
	for _, index := range slices.Sorted(maps.Keys(w.blocked)) {
		say("group %d: %s", index, w.blocked[index])
	}
	out = append(out, w.claims.attention()...)
	out = append(out, quotas(s.Quotas, w)...)
	if w.stalled {
		say("the rollout stalls: nothing moves for %s", in.ProgressDeadline)
	}
	if !tally.Progressing {
		return out
	}
	why := ""
	switch {
	case tally.Outdated == 0:
	case in.Budget.Unavailable == 0:
		why = "; no group may be unavailable, and no surge group is Ready to stand in"
	default:
		why = "; no further one may be taken down"
	}
	say("this does not end by itself: %d of %d groups are Ready, %d still lack the new revision%s",
		tally.DesiredReady, tally.Desired, tally.Outdated, why)
	return out
}

// quotas says which would not let all pods be there that are there at the worst moment.
func quotas(all []corev1.ResourceQuota, w *world) []string {
	var out []string
	for i := range all {
		q := &all[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue // it is about some pods only
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			wanted, known := w.more(name)
			used := q.Status.Used[name]
			hard := q.Status.Hard[name]
			wanted.Add(used)
			if known && wanted.Cmp(hard) > 0 {
				out = append(out, fmt.Sprintf("quota %s: %s would come to %s of %s", q.Name, name, wanted.String(), hard.String()))
			}
		}
	}
	return out
}

// more is how much more of what a quota counts the set has at the worst moment than
// now.
func (w *world) more(name corev1.ResourceName) (resource.Quantity, bool) {
	key := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(string(name), "requests."), "count/"))
	peak, known := w.peak[key]
	peak = peak.DeepCopy()
	if now, had := w.before[key]; had {
		peak.Sub(now)
	}
	return peak, known && peak.Sign() > 0
}
