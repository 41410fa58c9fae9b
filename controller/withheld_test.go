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
			if (why != nil) != (tc.want != "") || why != nil && !strings.Contains(why.Message, tc.want) || k.Input(time.Time{}).Withheld != (tc.want != "") {
				t.Errorf("withheld: %v, want %q", why, tc.want)
			}
			if k.AllowKueueUnmanaged = true; k.Withheld() != nil || k.Input(time.Time{}).Withheld {
				t.Errorf("withheld in spite of the flag: %v", k.Withheld())
			}
		})
	}
}

// Native scheduling goes with nothing that has workers come later, nor with templates
// that no one PodGroup can hold; and without the API it is no scheduling at all.
func TestSchedulingWithheld(t *testing.T) {
	const missing = "the cluster lacks it"
	leader := func(spec corev1.PodSpec) func(*v1.LeaderWorkerSet) {
		return func(s *v1.LeaderWorkerSet) {
			s.Spec.LeaderWorkerTemplate.LeaderTemplate = &corev1.PodTemplateSpec{Spec: spec}
		}
	}
	other := "other"
	for name, tc := range map[string]struct {
		mark         func(s *v1.LeaderWorkerSet)
		noGangs      string
		reason, want string // empty: pods are created
		basic        bool   // also with the basic policy
	}{
		"a gang":                {mark: func(*v1.LeaderWorkerSet) {}, basic: true},
		"no API":                {mark: func(*v1.LeaderWorkerSet) {}, noGangs: missing, reason: v1.ReasonSchedulingUnavailable, want: missing, basic: true},
		"no API, no scheduling": {mark: func(s *v1.LeaderWorkerSet) { s.Spec.Scheduling = nil }, noGangs: missing},
		"leader first": {mark: func(s *v1.LeaderWorkerSet) { s.Spec.StartupPolicy = v1.LeaderReadyStartupPolicy },
			reason: v1.ReasonSchedulingConflict, want: "startupPolicy LeaderReady"},
		"exclusive": {mark: func(s *v1.LeaderWorkerSet) { s.Annotations = map[string]string{v1.AnnotationExclusiveTopology: "rack"} },
			reason: v1.ReasonSchedulingConflict, want: "exclusive-topology"},
		"colocated": {mark: func(s *v1.LeaderWorkerSet) { s.Annotations = map[string]string{v1.AnnotationColocate: "rack"} },
			reason: v1.ReasonSchedulingConflict, want: "colocate"},
		"two priorities": {mark: leader(corev1.PodSpec{PriorityClassName: "high"}), basic: true,
			reason: v1.ReasonSchedulingConflict, want: `leaderTemplate.spec.priorityClassName "high" beside workerTemplate.spec.priorityClassName ""`},
		"two schedulers": {mark: leader(corev1.PodSpec{SchedulerName: "mine"}), basic: true,
			reason: v1.ReasonSchedulingConflict, want: "schedulerName"},
		"another PodGroup": {mark: leader(corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &other}}), basic: true,
			reason: v1.ReasonSchedulingConflict, want: "spec.leaderWorkerTemplate.leaderTemplate.spec.schedulingGroup"},
	} {
		for _, policy := range []*v1.SchedulingPolicy{nil, {}, {Gang: &v1.GangPolicy{}}, {Basic: &v1.BasicPolicy{}}} {
			set := &v1.LeaderWorkerSet{Spec: v1.LeaderWorkerSetSpec{Scheduling: &v1.Scheduling{SchedulingPolicy: policy}}}
			tc.mark(set)
			history, _ := revision.NewHistory(nil)
			k := &Known{Set: set, History: history, NoGangs: tc.noGangs}
			wanted := tc.reason
			if policy != nil && policy.Basic != nil && !tc.basic {
				wanted = ""
			}
			why := k.Withheld()
			if (why == nil) != (wanted == "") || why != nil && (why.Reason != wanted || !strings.Contains(why.Message, tc.want)) || k.Input(time.Time{}).Withheld != (wanted != "") {
				t.Errorf("%s, %+v: withheld %+v, want %q %q", name, policy, why, wanted, tc.want)
			}
		}
	}
}

// With the flag, a set whose pods Volcano places gets pods only if Volcano can place them
// as one; without it, nothing is asked.
func TestVolcanoWithheld(t *testing.T) {
	const missing = "the cluster lacks Volcano"
	pod := func(scheduler string) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{SchedulerName: scheduler}}
	}
	for name, tc := range map[string]struct {
		leader, worker *corev1.PodTemplateSpec
		native         bool
		noVolcano      string
		reason, want   string // empty: pods are created
	}{
		"placed by Volcano":           {worker: pod("volcano")},
		"no API":                      {worker: pod("volcano"), noVolcano: missing, reason: v1.ReasonSchedulingUnavailable, want: missing},
		"no API, nobody asks":         {worker: pod(""), noVolcano: missing},
		"two schedulers":              {leader: pod(""), worker: pod("volcano"), reason: v1.ReasonSchedulingConflict, want: `leaderTemplate.spec.schedulerName ""`},
		"two schedulers, neither it":  {leader: pod(""), worker: pod("other")},
		"native too":                  {worker: pod("volcano"), native: true, reason: v1.ReasonSchedulingConflict, want: "spec.scheduling cannot be used with schedulerName volcano"},
		"native too, for the leader":  {leader: pod("volcano"), worker: pod(""), native: true, reason: v1.ReasonSchedulingConflict, want: "spec.scheduling cannot be used with schedulerName volcano"},
		"native, no Volcano anywhere": {worker: pod(""), native: true, noVolcano: missing},
	} {
		set := &v1.LeaderWorkerSet{}
		set.Spec.LeaderWorkerTemplate.LeaderTemplate, set.Spec.LeaderWorkerTemplate.WorkerTemplate = tc.leader, *tc.worker
		if tc.native {
			set.Spec.Scheduling = &v1.Scheduling{}
		}
		history, _ := revision.NewHistory(nil)
		k := &Known{Set: set, History: history, Volcano: true, NoVolcano: tc.noVolcano}
		why := k.Withheld()
		if (why == nil) != (tc.reason == "") || why != nil && (why.Reason != tc.reason || !strings.Contains(why.Message, tc.want)) {
			t.Errorf("%s: withheld %+v, want %q %q", name, why, tc.reason, tc.want)
		}
		k.Volcano = false
		if why := k.Withheld(); why != nil && (!tc.native || tc.leader == nil) {
			t.Errorf("%s: withheld without the flag: %+v", name, why)
		}
	}
}
