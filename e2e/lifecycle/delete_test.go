package lifecycle

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/harness"
)

func remove(t *testing.T, set *harness.Set, policy metav1.DeletionPropagation) {
	t.Helper()
	err := env.Sets.LeaderWorkerSets(set.Namespace).Delete(t.Context(), set.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil {
		t.Fatal(err)
	}
}

func waitGone(t *testing.T, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "set "+set.Name+" to be gone", harness.DefaultTimeout, func() (bool, string) {
		s, err := env.Sets.LeaderWorkerSets(set.Namespace).Get(t.Context(), set.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || (err == nil && s.UID != set.UID) {
			return true, ""
		}
		return false, fmt.Sprintf("finalizers %v, %v", s.Finalizers, err)
	})
}

// left are the UIDs of all that a set may own, by kind and name.
func left(t *testing.T, ns string) map[string]metav1.ObjectMeta {
	t.Helper()
	out := map[string]metav1.ObjectMeta{}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	pods, err := env.Kube.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	must(err)
	for _, o := range pods.Items {
		out["pod/"+o.Name] = o.ObjectMeta
	}
	services, err := env.Kube.CoreV1().Services(ns).List(t.Context(), metav1.ListOptions{})
	must(err)
	for _, o := range services.Items {
		out["service/"+o.Name] = o.ObjectMeta
	}
	revisions, err := env.Kube.AppsV1().ControllerRevisions(ns).List(t.Context(), metav1.ListOptions{})
	must(err)
	for _, o := range revisions.Items {
		out["revision/"+o.Name] = o.ObjectMeta
	}
	return out
}

// TestDelete leaves it all to the garbage collector: the controller writes nothing
// about a set that is gone or going.
func TestDelete(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, "web", harness.Replicas(3), harness.Size(2), harness.UniquePerReplica)
			time.Sleep(settled)
			start := time.Now()
			remove(t, set, policy)
			waitGone(t, set)
			harness.WaitFor(t, "all to be gone", harness.DefaultTimeout, func() (bool, string) {
				rest := left(t, ns)
				return len(rest) == 0, fmt.Sprint(len(rest), " objects are left")
			})
			time.Sleep(settled)
			if writes := env.Writes(t, ns, start); len(writes) > 0 {
				t.Errorf("the controller wrote about a set that is going:\n%s", writes)
			}
			for _, s := range env.Controller.Groups(t) {
				if s.Namespace == ns {
					t.Errorf("the controller still remembers %s/%s", s.Namespace, s.Name)
				}
			}
			env.AtRest(t, ns)
		})
	}
}

// TestOrphanAndAdopt: deleted with its dependents orphaned and created again, a set
// has the same pods, which never noticed.
func TestOrphanAndAdopt(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]harness.Option{
		"shared": {harness.Replicas(2), harness.Size(3)},
		"unique": {harness.Replicas(2), harness.Size(2), harness.UniquePerReplica},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, "web", options...)
			before := left(t, ns)
			remove(t, set, metav1.DeletePropagationOrphan)
			waitGone(t, set)
			for name, o := range left(t, ns) {
				if o.UID != before[name].UID || len(o.OwnerReferences) > 0 || o.DeletionTimestamp != nil {
					t.Errorf("%s is not left behind as it was: owners %v, deleted %v", name, o.OwnerReferences, o.DeletionTimestamp)
				}
			}
			start := time.Now()
			again := available(t, ns, "web", options...)
			time.Sleep(settled)
			after := left(t, ns)
			if len(after) != len(before) {
				t.Errorf("%d objects, before %d", len(after), len(before))
			}
			for name, o := range after {
				owner := metav1.GetControllerOf(&o)
				if o.UID != before[name].UID {
					t.Errorf("%s is not the one from before", name)
				}
				if owner == nil || owner.UID != again.UID || len(o.OwnerReferences) != 1 {
					t.Errorf("%s has owners %v, want the new set alone", name, o.OwnerReferences)
				}
			}
			for _, p := range env.Pods(t, again) {
				for _, c := range p.Status.ContainerStatuses {
					if c.RestartCount != 0 {
						t.Errorf("pod %s restarted", p.Name)
					}
				}
			}
			writes := env.Writes(t, ns, start)
			for what := range writes {
				if what == "create pods" || what == "delete pods" || what == "create services" || what == "create controllerrevisions" {
					t.Errorf("adoption took %d times %s", writes[what], what)
				}
			}
			quiet(t, ns)
		})
	}
}

// TestDeleteAndCreateAtOnce: the new set of the same name waits for the names of
// the old pods and never takes over what is going.
func TestDeleteAndCreateAtOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, "web", harness.Replicas(2), harness.Size(3))
			old := left(t, ns)
			remove(t, set, policy)
			if policy == metav1.DeletePropagationForeground {
				waitGone(t, set) // until then the name is taken
			}
			again := available(t, ns, "web", harness.Replicas(2), harness.Size(3))
			time.Sleep(settled)
			again = env.WaitAvailable(t, again)
			now := left(t, ns)
			if len(now) != len(old) {
				t.Errorf("%d objects, before %d", len(now), len(old))
			}
			for name, o := range now {
				if owner := metav1.GetControllerOf(&o); owner == nil || owner.UID != again.UID {
					t.Errorf("%s is controlled by %v, want the new set", name, owner)
				}
				if o.UID == old[name].UID {
					t.Errorf("%s is the old set's", name)
				}
			}
			quiet(t, ns)
		})
	}
}

// TestServiceComesBack: a Service that somebody deletes is made again, and no pod
// notices.
func TestServiceComesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		service string
		options []harness.Option
	}{
		"shared": {"web", []harness.Option{harness.Replicas(2)}},
		"unique": {"web-1", []harness.Option{harness.Replicas(2), harness.UniquePerReplica}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := env.Namespace(t)
			set := available(t, ns, "web", c.options...)
			pods := uids(env.Pods(t, set))
			services := env.Kube.CoreV1().Services(ns)
			old, err := services.Get(t.Context(), c.service, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := services.Delete(t.Context(), c.service, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			harness.WaitFor(t, "the Service to come back", harness.DefaultTimeout, func() (bool, string) {
				s, err := services.Get(t.Context(), c.service, metav1.GetOptions{})
				return err == nil && s.UID != old.UID && metav1.IsControlledBy(s, set), fmt.Sprint(err)
			})
			replaced(t, set, pods)
			quiet(t, ns)
		})
	}
}
