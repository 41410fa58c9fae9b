package invariant

import (
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
	"lws-controller/topology"
)

// story feeds a checker with changes and collects the numbers of what they broke.
type story struct {
	*Checker
	version int64
	set     *v1.LeaderWorkerSet
	broken  []string
}

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *story) change(c *Change) {
	s.version++
	if c.After != nil {
		c.After.SetResourceVersion(strconv.FormatInt(s.version, 10))
	}
	if c.At.IsZero() {
		c.At = now
	}
	if c.By == Controller && c.Seen == nil {
		c.Seen = &Seen{Set: s.set, Pods: s.version - 1}
	}
	for _, v := range s.Observe(c, s.version) {
		s.broken = append(s.broken, v.Invariant)
	}
}

// begin is a set of three groups of two at revision r.
func begin() *story {
	s := &story{Checker: New()}
	two, three := int32(2), int32(3)
	s.set = &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "set", Generation: 3},
		Spec:   v1.LeaderWorkerSetSpec{Replicas: &three, StartupPolicy: v1.LeaderReadyStartupPolicy, LeaderWorkerTemplate: v1.LeaderWorkerTemplate{Size: &two}},
		Status: v1.LeaderWorkerSetStatus{UpdateRevision: "r", CurrentRevision: "r", ObservedGeneration: 3, EstablishedReplicas: 3}}
	s.change(&Change{By: User, Verb: Create, After: s.set.DeepCopy()})
	s.revision("r", 1, "one")
	return s
}

func (s *story) revision(key string, number int64, image string) *appsv1.ControllerRevision {
	set := s.set.DeepCopy()
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	data, err := revision.Data(revision.FromSet(set))
	if err != nil {
		panic(err)
	}
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-" + key + "-" + strconv.FormatInt(number, 10),
		UID: types.UID(key), Labels: map[string]string{v1.LabelName: "a", v1.LabelRevision: key}, OwnerReferences: s.owners()},
		Data: runtime.RawExtension{Raw: data}, Revision: number}
	s.change(&Change{By: Controller, Verb: Create, After: r})
	return r
}

func (s *story) owners() []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(s.set, v1.GroupVersionKind)}
}

func (s *story) pod(name string, n int, key string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + strconv.Itoa(n)), OwnerReferences: s.owners(),
		Labels:      map[string]string{v1.LabelName: "a", v1.LabelRevision: key},
		Annotations: map[string]string{v1.AnnotationIncarnation: strconv.Itoa(n), v1.AnnotationSize: "2"}}}
	if index, _, ok := topology.ParsePodName("a", name); ok {
		p.Labels[v1.LabelGroupIndex] = strconv.Itoa(int(index))
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func readyPod(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func failedPod(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

func unlabelled(p *corev1.Pod) { delete(p.Labels, v1.LabelName) }

func disruptedPod(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
}

// marked is a leader whose group has long been Ready.
func marked(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1.ConditionGroupReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))})
}

// restarted runs, and its container was restarted so often.
func restarted(times int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: times,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
}

func going(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

func (s *story) create(p *corev1.Pod) { s.change(&Change{By: Controller, Verb: Create, After: p}) }

func (s *story) kubelet(before, after *corev1.Pod) {
	s.change(&Change{By: Kubelet, Verb: Update, Before: before, After: after})
}

// run brings a group up.
func (s *story) run(leader string, n int, key string) {
	for _, name := range []string{leader, leader + "-1"} {
		s.create(s.pod(name, n, key))
		s.kubelet(s.pod(name, n, key), s.pod(name, n, key, readyPod))
	}
}

// gang makes the PodGroup of an incarnation of group 0.
func (s *story) gang(n int, minCount int32) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-0-" + strconv.Itoa(n), OwnerReferences: s.owners()},
		Spec: schedulingv1beta1.PodGroupSpec{SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}}}}
	s.change(&Change{By: Controller, Verb: Create, After: g})
	return g
}

func inGang(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		if _, worker, ok := topology.ParsePodName("a", p.Name); ok {
			p.Labels[v1.LabelWorkerIndex] = strconv.Itoa(int(worker))
		}
	}
}

func (s *story) status(f func(*v1.LeaderWorkerSetStatus)) {
	before := s.sets[types.NamespacedName{Namespace: "ns", Name: "a"}]
	after := before.DeepCopy()
	f(&after.Status)
	s.change(&Change{By: Controller, Verb: Update, Subresource: "status", UID: true, Before: before, After: after})
}

// partition sets the annotation of that name.
func (s *story) partition(value string) {
	before := s.set.DeepCopy()
	s.set.Annotations = map[string]string{v1.AnnotationPartition: value}
	s.change(&Change{By: User, Verb: Update, Before: before, After: s.set.DeepCopy()})
}

// policy changes the restart policy and the restart budget in a revision.
func (s *story) policy(key string, policy v1.RestartPolicyType, budget *int32) {
	before := s.set.DeepCopy()
	s.set.Spec.StartupPolicy = v1.LeaderCreatedStartupPolicy
	s.set.Spec.LeaderWorkerTemplate.RestartPolicy, s.set.Spec.LeaderWorkerTemplate.MaxGroupRestarts = policy, budget
	s.change(&Change{By: User, Verb: Update, Before: before, After: s.set.DeepCopy()})
	s.revision(key, 1, "one")
}

// recreate puts a teardown of group 0 because of a failure on record, with a count.
func (s *story) recreate(count int32) {
	s.status(func(st *v1.LeaderWorkerSetStatus) {
		st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleFailure, "r")}
		if count > 0 {
			st.GroupRestarts = []v1.GroupRestarts{{Index: 0, Revision: "r", Count: count}}
		}
	})
}

// teardown puts one of group 0 on record.
func (s *story) teardown(cause v1.RecycleCause) {
	s.status(func(st *v1.LeaderWorkerSetStatus) { st.Recycling = []v1.RecyclingGroup{recycling(0, 1, cause, "r")} })
}

func recycling(index int32, n int64, cause v1.RecycleCause, key string) v1.RecyclingGroup {
	return v1.RecyclingGroup{Index: index, Incarnation: n, Cause: cause, Revision: key}
}

// TestEachInvariantCanBeBroken: a check that nothing can fail is none.
func TestEachInvariantCanBeBroken(t *testing.T) {
	for _, tc := range []struct {
		name string
		want string
		do   func(s *story)
	}{
		{"nothing wrong", "", func(s *story) {
			s.run("a-0", 1, "r")
			s.run("a-1", 1, "r")
		}},
		{"deletion by force", "S1", func(s *story) {
			s.run("a-0", 1, "r")
			p := s.pod("a-0", 1, "r", readyPod)
			s.teardown(v1.RecycleScaleDown)
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Force: true, Before: p, After: s.pod("a-0", 1, "r", readyPod, going)})
		}},
		{"deletion without a precondition", "S2", func(s *story) {
			s.run("a-0", 1, "r")
			s.teardown(v1.RecycleScaleDown)
			s.change(&Change{By: Controller, Verb: Delete, Before: s.pod("a-0", 1, "r", readyPod)})
		}},
		{"pod of nobody", "S2", func(s *story) {
			s.create(s.pod("a-0", 1, "r", func(p *corev1.Pod) { p.OwnerReferences = nil }))
		}},
		{"patch of a foreign pod", "S2", func(s *story) {
			foreign := func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }
			s.change(&Change{By: Controller, Verb: Update, UID: true, Version: true, Before: s.pod("a-0", 1, "r", foreign), After: s.pod("a-0", 1, "r", foreign, readyPod)})
		}},
		{"deletion of a claim", "S2", func(s *story) {
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: claim("")})
		}},
		{"change of a foreign claim", "S2", func(s *story) {
			s.change(&Change{By: Controller, Verb: Update, UID: true, Version: true, Before: claim("other"), After: claim("")})
		}},
		{"change of a claim without its version", "S2", func(s *story) {
			s.change(&Change{By: Controller, Verb: Update, UID: true, Before: claim(""), After: claim("")})
		}},
		{"claim of nobody", "", func(s *story) {
			s.change(&Change{By: Controller, Verb: Create, After: claim("")})
			s.change(&Change{By: Controller, Verb: Update, UID: true, Version: true, Before: claim(""), After: claim("pod")})
		}},
		{"next incarnation before the last is gone", "S3", func(s *story) {
			s.run("a-0", 1, "r")
			s.teardown(v1.RecycleScaleDown)
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0", 1, "r", readyPod)})
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0-1", 1, "r", readyPod), After: s.pod("a-0-1", 1, "r", readyPod, going)})
			s.create(s.pod("a-0", 2, "r"))
		}},
		{"an incarnation begins again", "S3", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.teardown(v1.RecycleScaleDown)
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0", 1, "r")})
			s.set = s.sets[types.NamespacedName{Namespace: "ns", Name: "a"}]
			s.create(s.pod("a-0", 1, "r"))
		}},
		{"two revisions in a group", "S4", func(s *story) {
			s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "r", readyPod))
			s.create(s.pod("a-0-1", 1, "q"))
		}},
		{"worker before its leader is Ready", "S5", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.create(s.pod("a-0-1", 1, "r"))
		}},
		{"too many available groups taken down", "S7", func(s *story) {
			s.run("a-0", 1, "r")
			s.run("a-1", 1, "r")
			s.revision("q", 2, "two")
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.UpdateRevision = "q"
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleUpdate, "q"), recycling(1, 1, v1.RecycleUpdate, "q")}
			})
		}},
		{"more established than there ever were", "S7", func(s *story) {
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.EstablishedReplicas = 0 })
			s.broken = nil
			s.run("a-0", 1, "r")
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.EstablishedReplicas = 1 })
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.EstablishedReplicas = 2 })
		}},
		{"established falls", "S7", func(s *story) {
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.EstablishedReplicas = 2 })
		}},
		{"an update below the partition", "S9", func(s *story) {
			s.partition("1")
			s.create(s.pod("a-0", 1, "r"))
			s.revision("q", 2, "two")
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.UpdateRevision = "q"
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleUpdate, "q")}
			})
		}},
		{"built below the partition at the new revision", "S9", func(s *story) {
			s.partition("1")
			s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "q"))
		}},
		{"recreated twice for one request", "S11", func(s *story) {
			s.set.Annotations = map[string]string{v1.AnnotationRecycle: "0@2025-12-31T00:00:00Z"}
			for n := range int64(2) {
				s.create(s.pod("a-0", int(n)+1, "r"))
				s.status(func(st *v1.LeaderWorkerSetStatus) {
					st.Recycling = []v1.RecyclingGroup{recycling(0, n+1, v1.RecycleRequested, "r")}
				})
				s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0", int(n)+1, "r")})
			}
		}},
		{"index beyond the replicas", "S8", func(s *story) { s.create(s.pod("a-3", 1, "r")) }},
		{"rebuilt at another revision after a failure", "S9", func(s *story) {
			s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.recreate(1)
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0", 1, "r", failedPod)})
			s.create(s.pod("a-0", 2, "q"))
		}},
		{"back to an older revision", "S10", func(s *story) {
			s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "q"))
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.UpdateRevision = "q"
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleUpdate, "r")}
			})
		}},
		{"unproven revision everywhere", "S10a", func(s *story) {
			s.run("a-1", 1, "r")
			s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "r"))
			s.create(s.pod("a-2", 1, "r"))
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.UpdateRevision = "q"
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleUpdate, "q"), recycling(2, 1, v1.RecycleUpdate, "q")}
			})
		}},
		{"recreated without a failure", "S11", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleFailure, "r")}
			})
		}},
		{"deleted before the teardown is on record", "S11", func(s *story) {
			s.run("a-0", 1, "r")
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod("a-0", 1, "r", readyPod), After: s.pod("a-0", 1, "r", readyPod, going)})
		}},
		{"recreated twice for one failure", "S11", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			for i := range int32(2) {
				s.recreate(i + 1)
				s.status(func(st *v1.LeaderWorkerSetStatus) { st.Recycling = nil })
			}
		}},
		{"an update counted as a restart", "S12", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleUpdate, "r")}
				st.GroupRestarts = []v1.GroupRestarts{{Index: 0, Revision: "r", Count: 1}}
			})
		}},
		{"restarts forgotten", "S12", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.status(func(st *v1.LeaderWorkerSetStatus) {
				st.Recycling = []v1.RecyclingGroup{recycling(0, 1, v1.RecycleFailure, "r")}
				st.GroupRestarts = []v1.GroupRestarts{{Index: 0, Revision: "r", Count: 1}}
			})
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.GroupRestarts = nil })
		}},
		{"restarts forgotten with their budget", "S12", func(s *story) {
			s.policy("r", v1.RecreateGroupOnPodRestart, new(int32(2)))
			s.create(s.pod("a-0", 1, "r", marked))
			s.kubelet(s.pod("a-0", 1, "r", marked), s.pod("a-0", 1, "r", failedPod, marked))
			s.recreate(1)
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.GroupRestarts = nil })
		}},
		{"recreated more often than allowed", "S12", func(s *story) {
			s.policy("r", v1.RecreateGroupOnPodRestart, new(int32(0)))
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.recreate(1)
		}},
		{"a failure that is not counted", "S12", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.recreate(0)
		}},
		{"a disruption that is counted", "S12", func(s *story) {
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod, disruptedPod))
			s.recreate(1)
		}},
		{"recreated under None", "S11", func(s *story) {
			s.policy("r", v1.NoneRestartPolicy, nil)
			s.create(s.pod("a-0", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.recreate(1)
		}},
		{"recreated before the start", "S11", func(s *story) {
			s.policy("r", v1.RecreateGroupAfterStart, nil)
			s.create(s.pod("a-0", 1, "r"))
			s.create(s.pod("a-0-1", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", failedPod))
			s.recreate(1)
		}},
		{"recreated for a restart before the start", "S11", func(s *story) {
			s.policy("r", v1.RecreateGroupAfterStart, nil)
			s.create(s.pod("a-0", 1, "r"))
			s.create(s.pod("a-0-1", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", restarted(2)))
			s.kubelet(s.pod("a-0-1", 1, "r"), s.pod("a-0-1", 1, "r", restarted(0)))
			s.recreate(1)
		}},
		{"recreated for a restart after the start", "", func(s *story) {
			s.policy("r", v1.RecreateGroupAfterStart, nil)
			s.create(s.pod("a-0", 1, "r"))
			s.create(s.pod("a-0-1", 1, "r"))
			s.kubelet(s.pod("a-0", 1, "r"), s.pod("a-0", 1, "r", restarted(2)))
			s.kubelet(s.pod("a-0-1", 1, "r"), s.pod("a-0-1", 1, "r", restarted(0)))
			s.kubelet(s.pod("a-0-1", 1, "r", restarted(0)), s.pod("a-0-1", 1, "r", restarted(1)))
			s.recreate(1)
		}},
		{"second revision of the same meaning", "S13", func(s *story) { s.revision("q", 2, "one") }},
		{"data of a revision changed", "S14", func(s *story) {
			r := s.revision("q", 2, "two")
			changed := r.DeepCopy()
			changed.Data.Raw = []byte(`{}`)
			s.change(&Change{By: Controller, Verb: Update, UID: true, Version: true, Before: r, After: changed})
		}},
		{"revision in use deleted", "S14", func(s *story) {
			r := s.revision("q", 2, "two")
			s.create(s.pod("a-0", 1, "q"))
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: r})
		}},
		{"work for a set that is going", "S15", func(s *story) {
			s.set.DeletionTimestamp = &metav1.Time{Time: now}
			s.create(s.pod("a-0", 1, "r"))
		}},
		{"observedGeneration goes back", "S17", func(s *story) {
			s.status(func(st *v1.LeaderWorkerSetStatus) { st.ObservedGeneration = 1 })
		}},
		{"a pod without its PodGroup", "S24", func(s *story) { s.create(s.pod("a-0", 1, "r", inGang("a-0-1"))) }},
		{"a pod with its PodGroup", "", func(s *story) {
			s.gang(1, 2)
			s.create(s.pod("a-0", 1, "r", inGang("a-0-1")))
			s.kubelet(s.pod("a-0", 1, "r", inGang("a-0-1")), s.pod("a-0", 1, "r", inGang("a-0-1"), readyPod))
			s.create(s.pod("a-0-1", 1, "r", inGang("a-0-1")))
		}},
		{"a PodGroup of another size", "S24", func(s *story) {
			s.gang(1, 3)
			s.create(s.pod("a-0", 1, "r", inGang("a-0-1")))
		}},
		{"a PodGroup of another incarnation", "S24", func(s *story) {
			s.gang(1, 2)
			s.create(s.pod("a-0", 2, "r", inGang("a-0-1")))
		}},
		{"two PodGroups in a group", "S24", func(s *story) {
			s.gang(1, 2)
			s.create(s.pod("a-0", 1, "r", inGang("a-0-1")))
			s.kubelet(s.pod("a-0", 1, "r", inGang("a-0-1")), s.pod("a-0", 1, "r", inGang("a-0-1"), readyPod))
			s.create(s.pod("a-0-1", 1, "r", inGang("a-0-2")))
		}},
		{"a PodGroup deleted under its pods", "S24", func(s *story) {
			g := s.gang(1, 2)
			s.create(s.pod("a-0", 1, "r", inGang("a-0-1")))
			s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: g})
		}},
		{"a budget lets two pods go", "S23", func(s *story) {
			s.budget(2, "0", "1")
		}},
		{"a budget lets a pod go while a group is down", "S23", func(s *story) {
			s.budget(3, "0", "1")
		}},
		{"a budget asks for all pods while a group is down", "", func(s *story) {
			s.budget(4, "0", "1")
		}},
		{"a budget protects a group that is torn down", "S23", func(s *story) {
			s.teardown(v1.RecycleScaleDown)
			s.budget(4, "0", "1")
		}},
		{"a budget that nobody asks for", "S23", func(s *story) {
			s.partition("0")
			s.budget(4, "0", "1")
		}},
		{"two groups are evicted where one may be", "S23", func(s *story) {
			s.budget(5, "0", "1", "2")
			s.evict("a-0")
			s.evict("a-1")
		}},
		{"a second pod of the same group is evicted", "", func(s *story) {
			s.budget(5, "0", "1", "2")
			s.evict("a-0")
			s.evict("a-0-1")
		}},
		{"an old leader goes on for too long", "S19", func(s *story) {
			s.change(&Change{By: Controller, Verb: Create, After: s.pod("a-0", 1, "r"), At: now.Add(time.Minute), Seen: s.deposed()})
		}},
		{"an old leader patches whatever it finds", "S19", func(s *story) {
			s.run("a-0", 1, "r")
			p := s.pod("a-0", 1, "r", readyPod)
			s.change(&Change{By: Controller, Verb: Update, UID: true, Before: p, After: p.DeepCopy(), Seen: s.deposed()})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := begin()
			tc.do(s)
			if got := strings.Join(s.broken, " "); got != tc.want {
				t.Errorf("broken %q, want %q: %v", got, tc.want, s.Violations())
			}
		})
	}
}

// budget is written for these groups of three, all of which are Ready, and of which
// evictions may take down one at a time, or what an annotation says.
func (s *story) budget(minAvailable int32, groups ...string) {
	for _, leader := range []string{"a-0", "a-1", "a-2"} {
		s.run(leader, 1, "r")
	}
	number := intstr.FromInt32(minAvailable)
	seen := s.sets[types.NamespacedName{Namespace: "ns", Name: "a"}].DeepCopy()
	if seen.Annotations == nil {
		seen.Annotations = map[string]string{v1.AnnotationDisruptionBudget: "1"}
	}
	s.change(&Change{By: Controller, Verb: Create, Seen: &Seen{Set: seen, Pods: s.version}, After: &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "budget", OwnerReferences: s.owners()},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &number, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelName: "a"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1.LabelGroupIndex, Operator: metav1.LabelSelectorOpIn, Values: groups}}}},
	}})
}

// evict marks a pod as one that is evicted.
func (s *story) evict(name string) {
	before := s.pods[types.NamespacedName{Namespace: "ns", Name: name}]
	after := before.DeepCopy()
	disruptedPod(after)
	s.change(&Change{By: Evictor, Verb: Update, Before: before, After: after})
	going := after.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: now}
	s.change(&Change{By: Evictor, Verb: Delete, Before: after, After: going})
}

// deposed is what a leader knows that has just lost its lease.
func (s *story) deposed() *Seen {
	return &Seen{Set: s.set, Pods: s.version, Lost: Loss{Process: "old", At: now}}
}

// TestShare: of three groups one is ill, and none of the others lacks anything.
func TestShare(t *testing.T) {
	s := begin()
	for _, leader := range []string{"a-0", "a-1", "a-2"} {
		s.run(leader, 1, "r")
	}
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	set := s.sets[key].DeepCopy()
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers = []corev1.Container{{Name: "c", Image: "one"}}
	s.change(&Change{By: User, Verb: Update, Before: s.sets[key], After: set})
	ill := map[int32]bool{1: true}
	if got := s.Share(key, ill, false); len(got) > 0 {
		t.Errorf("broken: %v", got)
	}
	if got := s.Share(key, ill, true); len(got) != 1 {
		t.Errorf("a status that should name what is wrong and does not: %v", got)
	}
	s.kubelet(s.pod("a-2-1", 1, "r", readyPod), s.pod("a-2-1", 1, "r"))
	if got := s.Share(key, ill, false); len(got) != 1 || got[0].Invariant != "L2" {
		t.Errorf("group 2 is not Ready besides: %v", got)
	}
}

// TestKnownWhateverTheCacheShows: a cache that lags hides what others do, and not
// what the controller did itself.
func TestKnownWhateverTheCacheShows(t *testing.T) {
	smaller := func(s *story) *v1.LeaderWorkerSet {
		two := int32(2)
		set := s.set.DeepCopy()
		set.Spec.Replicas = &two
		return set
	}
	for _, tc := range []struct {
		name string
		want string
		do   func(s *story)
	}{
		{"a group of the floor is being built anew", "S7", func(s *story) { s.takeSecond(s.rebuild) }},
		{"a group of the floor fails unseen", "", func(s *story) { s.takeSecond(s.fail) }},
		{"groups that it made are more than there may be", "S8", func(s *story) {
			s.create(s.pod("a-1", 1, "r"))
			s.create(s.pod("a-2", 1, "r"))
			s.change(&Change{By: Controller, Verb: Create, After: s.pod("a-0", 1, "r"), Seen: &Seen{Set: smaller(s)}})
		}},
		{"or it may not have known that there may be fewer", "", func(s *story) {
			s.create(s.pod("a-1", 1, "r"))
			s.create(s.pod("a-2", 1, "r"))
			s.change(&Change{By: Controller, Verb: Create, After: s.pod("a-0", 1, "r"), Seen: &Seen{Set: smaller(s), Later: []*v1.LeaderWorkerSet{s.set}}})
		}},
		{"a leader that it read live, before somebody took the label off", "", func(s *story) {
			seen := s.version
			for _, leader := range []string{"a-0", "a-1", "a-2"} {
				s.create(s.pod(leader, 1, "r"))
				s.kubelet(s.pod(leader, 1, "r"), s.pod(leader, 1, "r", readyPod))
			}
			s.change(&Change{By: User, Verb: Update, Before: s.pod("a-1", 1, "r", readyPod), After: s.pod("a-1", 1, "r", readyPod, unlabelled)})
			s.change(&Change{By: Controller, Verb: Create, After: s.pod("a-1-1", 1, "r"), Seen: &Seen{Set: smaller(s), Pods: seen}})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := begin()
			tc.do(s)
			if got := strings.Join(s.broken, " "); got != tc.want {
				t.Errorf("broken %q, want %q: %v", got, tc.want, s.Violations())
			}
		})
	}
}

// takeSecond brings three groups up, has something happen to group 2, and takes
// group 1 down for an update, with a cache that shows the pods from before that.
func (s *story) takeSecond(happens func()) {
	for _, leader := range []string{"a-0", "a-1", "a-2"} {
		s.run(leader, 1, "r")
	}
	seen := s.version
	s.revision("q", 2, "two")
	happens()
	before := s.sets[types.NamespacedName{Namespace: "ns", Name: "a"}]
	after := before.DeepCopy()
	after.Status.UpdateRevision = "q"
	after.Status.Recycling = []v1.RecyclingGroup{recycling(1, 1, v1.RecycleUpdate, "q")}
	s.change(&Change{By: Controller, Verb: Update, Subresource: "status", UID: true, Before: before, After: after, Seen: &Seen{Set: s.set, Pods: seen}})
}

// rebuild takes group 2 down for an update and begins to build it anew.
func (s *story) rebuild() {
	s.status(func(st *v1.LeaderWorkerSetStatus) {
		st.UpdateRevision = "q"
		st.Recycling = []v1.RecyclingGroup{recycling(2, 1, v1.RecycleUpdate, "q")}
	})
	for _, name := range []string{"a-2", "a-2-1"} {
		s.change(&Change{By: Controller, Verb: Delete, UID: true, Before: s.pod(name, 1, "r", readyPod)})
	}
	s.create(s.pod("a-2", 2, "q"))
	s.status(func(st *v1.LeaderWorkerSetStatus) { st.Recycling = nil })
}

// fail has a pod of group 2 fail.
func (s *story) fail() { s.kubelet(s.pod("a-2", 1, "r", readyPod), s.pod("a-2", 1, "r", failedPod)) }

// claim is one that something controls, or nothing.
func claim(controller types.UID) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data-a-0", UID: "claim"}}
	if yes := true; controller != "" {
		c.OwnerReferences = []metav1.OwnerReference{{UID: controller, Controller: &yes}}
	}
	return c
}
