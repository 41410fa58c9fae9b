package group

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// Whatever somebody has made of a pod that carries our labels, it is observed,
// folded and looked at without a crash, and costs no more than any other.
func FuzzPod(f *testing.F) {
	for _, annotations := range []string{
		`{"leaderworkerset.x-k8s.io/incarnation":"2","leaderworkerset.sigs.k8s.io/size":"4"}`,
		`{"leaderworkerset.x-k8s.io/incarnation":"-1","leaderworkerset.sigs.k8s.io/size":"99999999999"}`,
		`{"leaderworkerset.x-k8s.io/incarnation":"9223372036854775807","leaderworkerset.sigs.k8s.io/size":"-2147483649"}`,
		`{"leaderworkerset.x-k8s.io/incarnation":"+1","leaderworkerset.sigs.k8s.io/size":" 3"}`,
	} {
		f.Add([]byte(`{"metadata":{"name":"a-0","uid":"u","resourceVersion":"7","annotations":`+annotations+`}}`), int32(0), int32(3))
	}
	f.Add([]byte(`{"metadata":{"name":"a-0-1","uid":"u","resourceVersion":"x","deletionTimestamp":"2026-01-01T00:00:00Z",
		"ownerReferences":[{"controller":true,"uid":"set","kind":"LeaderWorkerSet"},{"controller":true,"uid":"other"}]},
		"spec":{"readinessGates":[{"conditionType":"leaderworkerset.x-k8s.io/GroupReady"}]},
		"status":{"phase":"Odd","conditions":[{"type":"Ready","status":"Perhaps"},{"type":"leaderworkerset.x-k8s.io/GroupReady","status":""}],
		"containerStatuses":[{"restartCount":-3},{"restartCount":2147483647,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`), int32(2147483647), int32(-1))
	f.Fuzz(func(t *testing.T, data []byte, worker, size int32) {
		var pod corev1.Pod
		if worker < 0 || json.Unmarshal(data, &pod) != nil {
			t.Skip("no pod, or no name of one")
		}
		p := ObservePod(&pod, worker)
		if p.Incarnation < 0 || p.Incarnation > MaxIncarnation || p.Restarts < 0 {
			t.Fatalf("observed as %+v", p)
		}
		s := NewState(0)
		for _, sizes := range []map[string]int32{nil, {p.Revision: size}} {
			s.Fold(Observed(p), time.Time{})
			v := s.View(p.Controller, sizes)
			if v.HasPods && v.Size < 1 || len(v.Missing) > maxMissing {
				t.Fatalf("size %d, %d missing", v.Size, len(v.Missing))
			}
			for _, missing := range v.Missing {
				if missing < 1 || missing >= v.Size || missing == worker {
					t.Fatalf("worker %d is missing, of %d", missing, v.Size)
				}
			}
			if v.AllReady && v.Size > 1 {
				t.Fatalf("one pod is a whole group of %d", v.Size)
			}
			phase := PhaseOf(&v, true, &v1.RecyclingGroup{Incarnation: int64(size)}, false)
			if _, err := s.Move(phase, v.Incarnation, "", time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		again := NewState(0)
		for _, e := range s.Snapshot() {
			again.Fold(e, time.Time{})
		}
		if len(again.Pods()) != len(s.Pods()) {
			t.Fatal("the snapshot does not give the pod back")
		}
	})
}
