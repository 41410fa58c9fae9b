package volcano

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
	"lws-controller/topology"
)

const nodes = 2

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, cluster.Options{Nodes: nodes, RaisedLimits: true}, &env, "--scheduler-provider=volcano"))
}

// placed has Volcano place the pods.
func placed(set *harness.Set) {
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.SchedulerName = lwsv1.VolcanoScheduler
	if t := set.Spec.LeaderWorkerTemplate.LeaderTemplate; t != nil {
		t.Spec.SchedulerName = lwsv1.VolcanoScheduler
	}
}

// groups are all PodGroups of Volcano.
func groups() dynamic.NamespaceableResourceInterface {
	return dynamic.NewForConfigOrDie(env.Cluster.Config(harness.TestAgent)).Resource(topology.VolcanoVersion.WithResource("podgroups"))
}

// install gives the controller the optional rights, brings the API, and does from then
// on what Volcano's scheduler would.
var install = sync.OnceFunc(func() {
	for _, args := range [][]string{{"apply", "-k", "../../deploy/rbac/volcano"}, {"apply", "-f", "testdata/crd.yaml"}} {
		out, err := exec.Command(env.Cluster.Kubectl(), append([]string{"--kubeconfig", env.Cluster.Kubeconfig()}, args...)...).CombinedOutput()
		if err != nil {
			log.Panicf("kubectl %v: %v\n%s", args, err, out)
		}
	}
	go func() {
		for range time.Tick(200 * time.Millisecond) {
			if err := schedule(context.Background()); err != nil {
				log.Printf("scheduling: %v", err) // the API may be a moment late, or the cluster at its end
			}
		}
	}()
})

// schedule binds the pods of each PodGroup once there are as many as it asks for, unless
// its queue is closed, and says so in its status.
func schedule(ctx context.Context) error {
	pods, err := env.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.schedulerName=" + lwsv1.VolcanoScheduler})
	if err != nil {
		return err
	}
	members := map[types.NamespacedName][]*corev1.Pod{}
	for i := range pods.Items {
		p := &pods.Items[i]
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Annotations["scheduling.k8s.io/group-name"]}
		members[key] = append(members[key], p)
	}
	for key, pods := range members {
		g, err := groups().Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || key.Name == "" {
			continue
		} else if err != nil {
			return err
		}
		least, _, _ := unstructured.NestedInt64(g.Object, "spec", "minMember")
		if queue, _, _ := unstructured.NestedString(g.Object, "spec", "queue"); int64(len(pods)) < least || queue == "closed" {
			continue
		}
		for i, p := range pods {
			if p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
				to := corev1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("node-%d", i%nodes)}
				err := env.Kube.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: to}, metav1.CreateOptions{})
				if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		if phase, _, _ := unstructured.NestedString(g.Object, "status", "phase"); phase != "Running" {
			_, err := groups().Namespace(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
