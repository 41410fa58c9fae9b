package controller

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
)

// Any of the marks of Kueue has the pods withheld and is named; the flag lets them run.
func TestKueue(t *testing.T) {
	const parent = "kueue.x-k8s.io/pod-suspending-parent"
	for name, tc := range map[string]struct {
		mark func(s *v1.LeaderWorkerSet)
		want string // empty: not managed
	}{
		"none":  {func(*v1.LeaderWorkerSet) {}, ""},
		"queue": {func(s *v1.LeaderWorkerSet) { s.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }, "label kueue.x-k8s.io/queue-name"},
		"queue of the pods, which Kueue gates itself": {func(s *v1.LeaderWorkerSet) {
			s.Spec.LeaderWorkerTemplate.WorkerTemplate.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"}
		}, ""},
		"annotation of the workers": {func(s *v1.LeaderWorkerSet) {
			s.Spec.LeaderWorkerTemplate.WorkerTemplate.Annotations = map[string]string{parent: "leaderworkerset"}
		}, parent + " on workerTemplate"},
		"label of the leader": {func(s *v1.LeaderWorkerSet) {
			s.Spec.LeaderWorkerTemplate.LeaderTemplate = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{parent: ""}}}
		}, parent + " on leaderTemplate"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &v1.LeaderWorkerSet{}
			tc.mark(set)
			history, _ := revision.NewHistory(nil)
			k := &Known{Set: set, History: history}
			why := k.Withheld()
			if (why != "") != (tc.want != "") || !strings.Contains(why, tc.want) || k.Input(time.Time{}).Withheld != (tc.want != "") {
				t.Errorf("withheld: %q, want %q", why, tc.want)
			}
			if k.AllowKueueUnmanaged = true; k.Withheld() != "" || k.Input(time.Time{}).Withheld {
				t.Errorf("withheld in spite of the flag: %s", k.Withheld())
			}
		})
	}
}
