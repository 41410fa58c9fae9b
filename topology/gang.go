package topology

import (
	"encoding/json"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	v1 "lws-controller/api/v1"
)

// GangsNotServed is why there can be no PodGroups in a cluster without their API.
const GangsNotServed = "the cluster does not serve scheduling.k8s.io/v1beta1, which takes Kubernetes 1.37 and the feature gate GenericWorkload"

// VolcanoNotServed is why there can be no PodGroups of Volcano in such a cluster.
const VolcanoNotServed = "the cluster does not serve scheduling.volcano.sh/v1beta1, which takes an installed Volcano"

// gangTemplate is the name of the one template of a Workload.
const gangTemplate = "group"

// PodGroupName is the name of the PodGroup of one incarnation of a group.
func PodGroupName(set string, group int32, incarnation int64) string {
	return LeaderName(set, group) + "-" + strconv.FormatInt(incarnation, 10)
}

// IsGang says that a set wants the pods of a group scheduled all or none.
func IsGang(s *v1.Scheduling) bool {
	return s != nil && (s.SchedulingPolicy == nil || s.SchedulingPolicy.Basic == nil)
}

// WorkloadName is the name of the Workload that the group's PodGroup refers to, empty
// where the set asks for no native scheduling. A Workload cannot be changed: its name
// says what is in it.
func (g *Group) WorkloadName() string {
	if g.Set.Spec.Scheduling == nil {
		return ""
	}
	content, err := json.Marshal(g.gangTemplate())
	if err != nil {
		panic(err) // names and numbers only
	}
	hash := fnv.New32a()
	hash.Write(content)
	return g.Set.Name + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// gangTemplate is what the set's scheduling means for a group of this size and priority.
// All pods of a group must have one priority, that of the PodGroup
// (https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/).
func (g *Group) gangTemplate() *schedulingv1beta1.PodGroupTemplate {
	s := g.Set.Spec.Scheduling.DeepCopy()
	t := &schedulingv1beta1.PodGroupTemplate{
		Name:                  gangTemplate,
		SchedulingConstraints: s.SchedulingConstraints,
		DisruptionMode:        s.DisruptionMode,
		ResourceClaims:        s.ResourceClaims,
		PriorityClassName:     g.podTemplate(0).Spec.PriorityClassName,
	}
	if IsGang(s) {
		t.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: g.Size()}
	} else {
		t.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	return t
}

// Workload builds the Workload that the group's PodGroup refers to.
func (g *Group) Workload() *schedulingv1beta1.Workload {
	return &schedulingv1beta1.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name:            g.WorkloadName(),
			Namespace:       g.Set.Namespace,
			Labels:          map[string]string{v1.LabelName: g.Set.Name},
			OwnerReferences: []metav1.OwnerReference{controllerRef(g.Set)},
		},
		Spec: schedulingv1beta1.WorkloadSpec{
			ControllerRef:     &schedulingv1beta1.TypedLocalObjectReference{APIGroup: v1.GroupName, Kind: v1.Kind, Name: g.Set.Name},
			PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{*g.gangTemplate()},
		},
	}
}

// PodGroup builds the PodGroup of this incarnation of the group.
func (g *Group) PodGroup() *schedulingv1beta1.PodGroup {
	t := g.gangTemplate()
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Name:      PodGroupName(g.Set.Name, g.Index, g.Incarnation),
			Namespace: g.Set.Namespace,
			Labels: map[string]string{
				v1.LabelName:       g.Set.Name,
				v1.LabelGroupIndex: itoa(g.Index),
				v1.LabelRevision:   g.Revision,
			},
			Annotations: map[string]string{
				v1.AnnotationIncarnation: strconv.FormatInt(g.Incarnation, 10),
				v1.AnnotationSize:        itoa(g.Size()),
			},
			OwnerReferences: []metav1.OwnerReference{controllerRef(g.Set)},
		},
		Spec: schedulingv1beta1.PodGroupSpec{
			WorkloadRef:           &schedulingv1beta1.WorkloadReference{WorkloadName: g.WorkloadName(), TemplateName: gangTemplate},
			SchedulingPolicy:      t.SchedulingPolicy,
			SchedulingConstraints: t.SchedulingConstraints,
			DisruptionMode:        t.DisruptionMode,
			ResourceClaims:        t.ResourceClaims,
			PriorityClassName:     t.PriorityClassName,
		},
	}
}

// Dropped names what of the set's scheduling a stored Workload lacks, empty if
// nothing: the API server leaves out what is behind a feature gate that is off.
func Dropped(s *v1.Scheduling, stored *schedulingv1beta1.Workload) string {
	if s == nil || len(stored.Spec.PodGroupTemplates) != 1 {
		return ""
	}
	switch t := &stored.Spec.PodGroupTemplates[0]; {
	case !equality.Semantic.DeepEqual(t.SchedulingConstraints, s.SchedulingConstraints):
		return "schedulingConstraints"
	case !equality.Semantic.DeepEqual(t.DisruptionMode, s.DisruptionMode):
		return "disruptionMode"
	case !equality.Semantic.DeepEqual(t.ResourceClaims, s.ResourceClaims):
		return "resourceClaims"
	}
	return ""
}

// GangConflict says what of a template cannot be with native scheduling, empty if
// nothing.
func GangConflict(t *v1.LeaderWorkerTemplate) string {
	for _, one := range []struct {
		name     string
		template *corev1.PodTemplateSpec
	}{{"leaderTemplate", t.LeaderTemplate}, {"workerTemplate", &t.WorkerTemplate}} {
		if one.template != nil && one.template.Spec.SchedulingGroup != nil {
			return "spec.leaderWorkerTemplate." + one.name + ".spec.schedulingGroup, which names another PodGroup"
		}
	}
	if t.LeaderTemplate == nil {
		return ""
	}
	if leader, worker := &t.LeaderTemplate.Spec, &t.WorkerTemplate.Spec; leader.PriorityClassName != worker.PriorityClassName {
		return "leaderTemplate.spec.priorityClassName " + strconv.Quote(leader.PriorityClassName) + " beside workerTemplate.spec.priorityClassName " +
			strconv.Quote(worker.PriorityClassName) + ": all pods of a PodGroup have one priority"
	}
	return twoSchedulers(t)
}

// twoSchedulers says that leader and workers have schedulers of their own, empty if not.
func twoSchedulers(t *v1.LeaderWorkerTemplate) string {
	leader, worker := t.LeaderTemplate.Spec.SchedulerName, t.WorkerTemplate.Spec.SchedulerName
	if leader == worker {
		return ""
	}
	return "leaderTemplate.spec.schedulerName " + strconv.Quote(leader) + " beside workerTemplate.spec.schedulerName " +
		strconv.Quote(worker) + ": one scheduler places all pods of a PodGroup"
}
