package topology

import (
	"maps"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "lws-controller/api/v1"
)

// VolcanoVersion and VolcanoKind are what Volcano's PodGroups are.
var (
	VolcanoVersion = schema.GroupVersion{Group: "scheduling.volcano.sh", Version: "v1beta1"}
	VolcanoKind    = VolcanoVersion.WithKind("PodGroup")
)

// VolcanoName is the name of Volcano's PodGroup of a group at a revision.
func VolcanoName(set string, group int32, revision string) string {
	return LeaderName(set, group) + "-" + revision
}

// ParseVolcanoName is the inverse of VolcanoName for one set.
func ParseVolcanoName(set, name string) (group int32, revision string, ok bool) {
	rest, isOfSet := strings.CutPrefix(name, set+"-")
	index, revision, _ := strings.Cut(rest, "-")
	group, isIndex := parseIndex(index)
	return group, revision, isOfSet && isIndex && revision != ""
}

// UsesVolcano says that Volcano places all pods of these templates, by PodGroups that
// somebody else has to make: a template may name one of its own.
func UsesVolcano(t *v1.LeaderWorkerTemplate) bool {
	for _, template := range templates(t) {
		if template.Spec.SchedulerName != v1.VolcanoScheduler || namesVolcanoGroup(template) {
			return false
		}
	}
	return true
}

// VolcanoPlaces says that Volcano places some of the pods of these templates.
func VolcanoPlaces(t *v1.LeaderWorkerTemplate) bool {
	for _, template := range templates(t) {
		if template.Spec.SchedulerName == v1.VolcanoScheduler {
			return true
		}
	}
	return false
}

// VolcanoConflict says why pods that Volcano places cannot be one PodGroup, empty if
// they can.
func VolcanoConflict(t *v1.LeaderWorkerTemplate) string {
	if t.LeaderTemplate == nil || !VolcanoPlaces(t) || namesVolcanoGroup(t.LeaderTemplate) || namesVolcanoGroup(&t.WorkerTemplate) {
		return ""
	}
	return twoSchedulers(t)
}

// templates are the one or two of a group.
func templates(t *v1.LeaderWorkerTemplate) []*corev1.PodTemplateSpec {
	if t.LeaderTemplate == nil {
		return []*corev1.PodTemplateSpec{&t.WorkerTemplate}
	}
	return []*corev1.PodTemplateSpec{t.LeaderTemplate, &t.WorkerTemplate}
}

func namesVolcanoGroup(t *corev1.PodTemplateSpec) bool {
	return metav1.HasAnnotation(t.ObjectMeta, v1.AnnotationVolcanoGroup) || metav1.HasAnnotation(t.ObjectMeta, v1.AnnotationVolcanoGroupOther)
}

// UsesVolcano says that the group is to have one of Volcano's PodGroups. What the set
// says of native scheduling comes first.
func (g *Group) UsesVolcano() bool { return g.Set.Spec.Scheduling == nil && UsesVolcano(g.Template) }

// VolcanoPodGroup builds Volcano's PodGroup of this incarnation of the group.
//
// Of the queue, and of the class of the priority, nothing is said where the set and the
// leader say nothing: then it is Volcano's, or an admission webhook's, to fill in.
func (g *Group) VolcanoPodGroup() *unstructured.Unstructured {
	spec := map[string]any{"minMember": int64(g.Size())}
	if g.Set.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy || len(v1.DomainKeys(g.Set.Annotations)) > 0 {
		spec["minMember"] = int64(1) // the workers come later
	}
	if sum := g.resources(); len(sum) > 0 {
		least := map[string]any{}
		for name, q := range sum {
			least[string(name)] = q.String()
		}
		spec["minResources"] = least
	}
	if queue := g.Set.Annotations[v1.AnnotationVolcanoQueue]; queue != "" {
		spec["queue"] = queue
	}
	if class := g.podTemplate(0).Spec.PriorityClassName; class != "" {
		spec["priorityClassName"] = class
	}
	annotations := map[string]string{v1.AnnotationIncarnation: strconv.FormatInt(g.Incarnation, 10)}
	for key, value := range g.Set.Annotations {
		if strings.HasPrefix(key, v1.VolcanoPrefix) {
			annotations[key] = value
		}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(VolcanoKind)
	o.SetNamespace(g.Set.Namespace)
	o.SetName(VolcanoName(g.Set.Name, g.Index, g.Revision))
	o.SetLabels(map[string]string{
		v1.LabelName:       g.Set.Name,
		v1.LabelGroupIndex: itoa(g.Index),
		v1.LabelRevision:   g.Revision,
	})
	o.SetAnnotations(annotations)
	o.SetOwnerReferences([]metav1.OwnerReference{controllerRef(g.Set)})
	return o
}

// VolcanoPatch is the JSON merge patch (RFC 7386) that makes a stored PodGroup what it
// should be, nil if it is. What is not ours to say stays: the queue of a set that names
// none, say, and annotations of others.
func VolcanoPatch(stored, want *unstructured.Unstructured) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	if labels := missing(stored.GetLabels(), want.GetLabels()); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := missing(stored.GetAnnotations(), want.GetAnnotations()); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	have, _ := stored.Object["spec"].(map[string]any)
	asked, _ := want.Object["spec"].(map[string]any)
	for key, value := range asked {
		if key != "minResources" && have[key] != value {
			spec[key] = value
		}
	}
	if least := leastPatch(have["minResources"], asked["minResources"]); least != nil {
		spec["minResources"] = least
	}
	patch := map[string]any{}
	if len(metadata) > 0 {
		patch["metadata"] = metadata
	}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// leastPatch is what makes minResources what they should be, nil if they are: the same
// quantity may be written in several ways.
func leastPatch(stored, want any) map[string]any {
	if reflect.DeepEqual(stored, want) {
		return nil
	}
	have, _ := stored.(map[string]any)
	asked, _ := want.(map[string]any)
	if equality.Semantic.DeepEqual(quantities(have), quantities(asked)) {
		return nil
	}
	patch := maps.Clone(asked)
	if patch == nil {
		patch = map[string]any{}
	}
	for key := range have {
		if _, stays := asked[key]; !stays {
			patch[key] = nil
		}
	}
	return patch
}

// quantities reads quantities as they are stored: strings, or bare numbers. What cannot
// be read is none.
func quantities(stored map[string]any) map[string]resource.Quantity {
	out := map[string]resource.Quantity{}
	for name, value := range stored {
		text, isText := value.(string)
		if n, isNumber := value.(int64); isNumber {
			text, isText = strconv.FormatInt(n, 10), true
		}
		if q, err := resource.ParseQuantity(text); isText && err == nil {
			out[name] = q
		}
	}
	return out
}

// missing are the pairs that stored lacks, or has otherwise.
func missing(stored, want map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range want {
		if have, is := stored[key]; !is || have != value {
			out[key] = value
		}
	}
	return out
}

// resources are what all pods of the group request together.
func (g *Group) resources() corev1.ResourceList {
	sum := podRequests(&g.podTemplate(0).Spec)
	for name, q := range podRequests(&g.podTemplate(1).Spec) {
		q.Mul(int64(g.Size() - 1))
		add(sum, corev1.ResourceList{name: q})
	}
	for name, q := range sum {
		if q.IsZero() {
			delete(sum, name)
		}
	}
	return sum
}

// podRequests are what a pod of this spec requests: its containers and sidecars
// together, or what its initialisation takes if that is more
// (https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers,
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers),
// or what is said of the pod as a whole, and the overhead.
//
//	containers 2 and 1, a sidecar 1, then an init container 4: max(2+1+1, 1+4) = 5
func podRequests(spec *corev1.PodSpec) corev1.ResourceList {
	sum, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		add(sum, requests(&spec.Containers[i].Resources))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		now := requests(&c.Resources)
		add(now, sidecars)
		atLeast(most, now)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars = now
		}
	}
	add(sum, sidecars)
	atLeast(sum, most)
	if r := spec.Resources; r != nil {
		for name, q := range r.Limits {
			if _, asked := sum[name]; !asked {
				sum[name] = q.DeepCopy()
			}
		}
		for name, q := range r.Requests {
			sum[name] = q.DeepCopy()
		}
	}
	add(sum, spec.Overhead)
	return sum
}

// requests are those of a container, with the limits of what it does not request: the
// API server fills them in so when the pod is made.
func requests(r *corev1.ResourceRequirements) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, r.Limits)
	maps.Copy(out, r.Requests)
	for name, q := range out {
		out[name] = q.DeepCopy()
	}
	return out
}

func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}

func atLeast(sum, least corev1.ResourceList) {
	for name, q := range least {
		if has := sum[name]; has.Cmp(q) < 0 {
			sum[name] = q
		}
	}
}
