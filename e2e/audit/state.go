package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
	"lws-controller/e2e/cluster"
)

// The resources that are judged, as requests name them.
const (
	pods      = "pods"
	services  = "services"
	revisions = "controllerrevisions"
	budgets   = "poddisruptionbudgets"
	podGroups = "podgroups"
	workloads = "workloads"
	// volcanoGroups are PodGroups of Volcano.
	volcanoGroups = "podgroups." + volcanoGroup
	volcanoGroup  = "scheduling.volcano.sh"
	sets          = lwsv1.Resource
)

// prefixes are where etcd holds each resource.
var prefixes = map[string]string{
	"/registry/pods/":                                 pods,
	"/registry/services/specs/":                       services,
	"/registry/controllerrevisions/":                  revisions,
	"/registry/poddisruptionbudgets/":                 budgets,
	"/registry/podgroups/":                            podGroups,
	"/registry/workloads/":                            workloads,
	"/registry/" + volcanoGroup + "/podgroups/":       volcanoGroups,
	"/registry/" + lwsv1.GroupName + "/" + sets + "/": sets,
}

// object names an object that may have had several lives.
type object struct {
	resource string
	types.NamespacedName
}

// state is what an object became at a resource version.
type state struct {
	object
	version int64
	// before and after are nil where the object did not exist, or does no more.
	before, after invariant.Object
}

// uid is that of the object, which does not change with its state.
func (s *state) uid() types.UID {
	if s.after != nil {
		return s.after.GetUID()
	}
	return s.before.GetUID()
}

// created is when the object was made, in whole seconds.
func (s *state) created() time.Time {
	if s.after != nil {
		return s.after.GetCreationTimestamp().Time
	}
	return s.before.GetCreationTimestamp().Time
}

// decode makes objects of what etcd stored.
func decode(history []cluster.Stored) ([]*state, error) {
	now := map[object]invariant.Object{}
	var out []*state
	for _, h := range history {
		o, ok := objectAt(h.Key)
		if !ok {
			continue
		}
		s := &state{object: o, version: h.Revision, before: now[o]}
		if h.Value != nil {
			after, err := decodeObject(o.resource, h.Value)
			if err != nil {
				return nil, fmt.Errorf("%s at revision %d: %w", h.Key, h.Revision, err)
			}
			after.SetResourceVersion(strconv.FormatInt(h.Revision, 10))
			s.after = after
		}
		if s.before == nil && s.after == nil {
			return nil, fmt.Errorf("%s was deleted at revision %d, and had never been stored", h.Key, h.Revision)
		}
		now[o] = s.after
		out = append(out, s)
	}
	return out, nil
}

// objectAt is the object at a key of etcd.
func objectAt(key string) (object, bool) {
	for prefix, resource := range prefixes {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			namespace, name, ok := strings.Cut(rest, "/")
			return object{resource, types.NamespacedName{Namespace: namespace, Name: name}}, ok
		}
	}
	return object{}, false
}

// decodeObject reads JSON, or the encoding that the API server stores its own kinds
// in.
func decodeObject(resource string, data []byte) (invariant.Object, error) {
	if resource == sets {
		set := &lwsv1.LeaderWorkerSet{}
		return set, json.Unmarshal(data, set)
	}
	if resource == volcanoGroups {
		podGroup := &unstructured.Unstructured{}
		return podGroup, podGroup.UnmarshalJSON(data)
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	switch o := decoded.(type) {
	case *corev1.Pod:
		return o, nil
	case *corev1.Service:
		return o, nil
	case *appsv1.ControllerRevision:
		return o, nil
	case *policyv1.PodDisruptionBudget:
		return o, nil
	case *schedulingv1beta1.PodGroup:
		return o, nil
	case *schedulingv1beta1.Workload:
		return o, nil
	}
	return nil, fmt.Errorf("a %T was not expected", decoded)
}

// condemned says that the deletion of an object began or ended with a state.
func (s *state) condemned() bool {
	if s.before == nil {
		return false
	}
	if s.after == nil {
		return true
	}
	before, after := s.before.GetDeletionGracePeriodSeconds(), s.after.GetDeletionGracePeriodSeconds()
	return s.before.GetDeletionTimestamp() == nil && s.after.GetDeletionTimestamp() != nil ||
		before != nil && after != nil && *before != *after
}

// marked says that a pod was marked as one to be evicted.
func (s *state) marked() bool {
	before, _ := s.before.(*corev1.Pod)
	after, ok := s.after.(*corev1.Pod)
	return ok && !hasCondition(before, corev1.DisruptionTarget) && hasCondition(after, corev1.DisruptionTarget)
}

// bound says that a pod was given its node.
func (s *state) bound() bool {
	before, _ := s.before.(*corev1.Pod)
	after, _ := s.after.(*corev1.Pod)
	return before != nil && after != nil && before.Spec.NodeName == "" && after.Spec.NodeName != ""
}

// managers are the writers that the object itself says to have made a state: their
// entries are not those of the state before.
func (s *state) managers() []string {
	if s.after == nil {
		return nil
	}
	var out []string
	for _, m := range s.after.GetManagedFields() {
		old := s.before != nil && slices.ContainsFunc(s.before.GetManagedFields(), func(o metav1.ManagedFieldsEntry) bool {
			return equality.Semantic.DeepEqual(o, m)
		})
		if !old {
			out = append(out, m.Manager)
		}
	}
	return out
}

// key is where etcd holds the object.
func (o object) key() string {
	for prefix, resource := range prefixes {
		if resource == o.resource {
			return prefix + o.Namespace + "/" + o.Name
		}
	}
	return ""
}
