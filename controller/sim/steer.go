package sim

import (
	"fmt"
	"strings"
	"time"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// Annotate sets an annotation of the set, or takes it off if the value is empty. It
// makes no new generation.
func (w *World) Annotate(key, value string) {
	w.note("user annotates: %s=%s", key, value)
	_, _ = update(w.server, w.server.sets, w.at, request{by: invariant.User}, func(s *v1.LeaderWorkerSet) error {
		annotate(key, value)(s)
		return nil
	})
}

func annotate(key, value string) func(*v1.LeaderWorkerSet) {
	return func(s *v1.LeaderWorkerSet) {
		if value == "" {
			delete(s.Annotations, key)
			return
		}
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = value
	}
}

// drawSteering sets an annotation by which people steer a rollout, or takes it off.
func (w *World) drawSteering() {
	at := func(within time.Duration) string {
		return w.clock.Now().Add(time.Duration(w.rng.Int64N(int64(within)))).UTC().Format(time.RFC3339)
	}
	number := func(n int32) string { return fmt.Sprint(w.rng.Int32N(n)) }
	draws := []struct {
		key   string
		value func() string
	}{
		{v1.AnnotationPaused, func() string { return "true" }},
		{v1.AnnotationPartition, func() string { return []string{number(3), "50%"}[w.rng.IntN(2)] }},
		{v1.AnnotationMaxUnavailable, func() string { return []string{number(3), "50%"}[w.rng.IntN(2)] }},
		{v1.AnnotationMaxSurge, func() string { return []string{number(3), "50%"}[w.rng.IntN(2)] }},
		{v1.AnnotationMinReady, func() string { return number(40) + "s" }},
		{v1.AnnotationProgressDeadline, func() string { return "1" + number(10) + "s" }},
		{v1.AnnotationRestartedAt, func() string { return at(time.Second) }},
		{v1.AnnotationUndo, func() string {
			return []string{"previous", "1" + strings.Repeat("0", w.rng.IntN(2)), "2"}[w.rng.IntN(3)]
		}},
		{v1.AnnotationRecycle, func() string { return []string{number(4), "0-1", "0,2-3"}[w.rng.IntN(3)] + "@" + at(time.Minute) }},
		{v1.AnnotationForceDeleteAfter, func() string { return "3" + number(10) + "s" }},
		{v1.AnnotationHistoryLimit, func() string { return number(2) }},
		{v1.AnnotationRecover, func() string { return "true" }},
		{v1.AnnotationRecreateAfterStart, func() string { return []string{"true", "false"}[w.rng.IntN(2)] }},
	}
	d := draws[w.rng.IntN(len(draws))]
	value := ""
	if s := w.server.sets.items[w.at]; s.Annotations[d.key] == "" || w.rng.IntN(3) == 0 {
		value = d.value()
	}
	w.covered["steer "+strings.TrimPrefix(d.key, "rollout.leaderworkerset.x-k8s.io/")]++
	w.Annotate(d.key, value)
}
