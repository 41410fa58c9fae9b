package kubectl

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
	"lws-controller/revision"
	"lws-controller/topology"
)

// noon is the time of all tests.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// world is a set with its pods and revisions, as the API server would show them.
type world struct {
	seen
	t       *testing.T
	history *revision.History
}

// newWorld makes a set of groups of two revisions, without pods.
func newWorld(t *testing.T, replicas, size int32) *world {
	t.Helper()
	w := &world{t: t, history: &revision.History{}}
	w.set = &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", Generation: 2, ResourceVersion: "77"}}
	w.set.Spec.Replicas = &replicas
	w.set.Spec.LeaderWorkerTemplate.Size = &size
	w.history, _ = revision.NewHistory(nil)
	for _, image := range []string{"example.com/worker:1", "example.com/worker:2"} {
		w.template(image)
	}
	w.set.Status.ObservedGeneration = 2
	w.set.Status.UpdateRevision, w.set.Status.CurrentRevision = w.key(2), w.key(1)
	return w
}

// template puts an image into the spec and stores the revision of that.
func (w *world) template(image string) {
	w.t.Helper()
	w.set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers = []corev1.Container{{Name: "worker", Image: image}}
	r, err := w.history.New(w.set, revision.FromSet(w.set), time.Time{}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	r.Object.CreationTimestamp = ago(time.Hour)
	r.Object.UID = types.UID(r.Object.Name)
	w.revisions = append(w.revisions, r.Object)
	w.history, _ = revision.NewHistory(w.revisions)
}

// key is that of the revision of this number.
func (w *world) key(number int) string { return w.history.Revisions()[number-1].Key }

// pod adds a pod that is Ready for ten minutes and made a minute before.
func (w *world) pod(index, worker int32, number int, change ...func(*corev1.Pod)) {
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: topology.PodName("web", index, worker), ResourceVersion: "5",
		UID: types.UID(fmt.Sprintf("pod-%d-%d", index, worker)), CreationTimestamp: ago(11 * time.Minute),
		Labels:          map[string]string{v1.LabelName: "web", v1.LabelRevision: w.key(number)},
		Annotations:     map[string]string{v1.AnnotationSize: fmt.Sprint(*w.set.Spec.LeaderWorkerTemplate.Size), v1.AnnotationIncarnation: "1"},
		OwnerReferences: []metav1.OwnerReference{{Kind: v1.Kind, Name: "web", UID: w.set.UID, Controller: &yes}}}}
	p.Spec.NodeName = fmt.Sprintf("node-%d", (index+worker)%4)
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(10 * time.Minute)}}
	if worker == 0 {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: v1.ConditionGroupReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(9 * time.Minute)})
	}
	for _, c := range change {
		c(p)
	}
	w.pods = append(w.pods, p)
}

// group adds all pods of a group.
func (w *world) group(index int32, number int, change ...func(*corev1.Pod)) {
	for worker := range *w.set.Spec.LeaderWorkerTemplate.Size {
		w.pod(index, worker, number, change...)
	}
}

// unscheduled is a pod that fits no node.
func unscheduled(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
	p.CreationTimestamp = ago(3 * time.Minute)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/4 nodes are available: 2 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint {maintenance: true}. preemption: 0/4 nodes are available"}}
}

// pulling is a pod whose image does not come.
func pulling(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(5 * time.Minute)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image example.com/worker:2"}}}}
}

// condition adds a condition that is True for five minutes.
func (w *world) condition(kind, reason, message string) {
	w.set.Status.Conditions = append(w.set.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue,
		Reason: reason, Message: message, LastTransitionTime: ago(5 * time.Minute), ObservedGeneration: w.set.Generation})
}

// small is a set of three groups amid an update.
func small(t *testing.T) *world {
	w := newWorld(t, 3, 4)
	w.group(0, 1)
	w.group(1, 1, func(p *corev1.Pod) { now := ago(0); p.DeletionTimestamp = &now })
	w.set.Status.Recycling = []v1.RecyclingGroup{{Index: 1, Incarnation: 1, Cause: v1.RecycleUpdate, Revision: w.key(2), StartedAt: ago(20 * time.Second)}}
	w.pod(2, 0, 2)
	w.pod(2, 1, 2, pulling)
	w.pod(2, 2, 2, unscheduled)
	w.pod(2, 3, 2, unscheduled)
	w.condition(v1.ConditionStalled, v1.ReasonProgressDeadline,
		"Nothing has moved for 5m0s: group 2 waits for pod web-2-1: container worker: ImagePullBackOff: Back-off pulling image example.com/worker:2")
	return w
}

// large is a set of three hundred groups with some trouble.
func large(t *testing.T) *world {
	w := newWorld(t, 300, 2)
	for index := range int32(300) {
		switch {
		case index == 17:
			w.pod(index, 0, 1)
			w.pod(index, 1, 1, unscheduled)
		case index == 280:
			w.pod(index, 0, 2, pulling)
			w.pod(index, 1, 2)
		case index == 299: // nothing yet
		case index > 280:
			w.group(index, 2)
		default:
			w.group(index, 1)
		}
	}
	w.set.Annotations = map[string]string{v1.AnnotationPaused: "true", v1.AnnotationPartition: "20%"}
	w.condition(v1.ConditionDegraded, "FailedCreate", "Group 299: pods \"web-299\" is forbidden: exceeded quota: gpus, requested: pods=2, used: pods=598, limited: pods=598")
	return w
}
