package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		helperProcess()
	}
	goleak.VerifyTestMain(m)
}

// TestCluster shares two clusters, since their start takes most of the time.
func TestCluster(t *testing.T) {
	// Built beforehand: the first build must not count as a start.
	if _, err := Build(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	c := StartT(t, Options{Nodes: 4, Racks: 2, Zones: 2})
	took := time.Since(start)
	t.Logf("started in %s", took.Round(time.Millisecond))
	if took > 30*time.Second { // 5 s on an idle machine
		t.Errorf("the start took %s", took)
	}
	for name, test := range map[string]func(*testing.T, *Cluster){
		"nodes": testNodes, "pod": testPod, "kwok policies": testKwokPolicies,
		"annotations": testAnnotations, "identities": testIdentities, "gang scheduling": testGangScheduling,
		"volumes": testVolumes,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
	t.Run("two at once", func(t *testing.T) { testTwo(t, c) })
	t.Run("restarts", func(t *testing.T) { testRestarts(t, c) })
}

func testNodes(t *testing.T, c *Cluster) {
	nodes, err := c.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: RackLabel + "=rack-1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 2 {
		t.Fatalf("%d nodes in rack-1, want 2", len(nodes.Items))
	}
	n := nodes.Items[0]
	if zone := n.Labels[corev1.LabelTopologyZone]; zone != "zone-1" {
		t.Errorf("zone %q, want zone-1", zone)
	}
	if gpus := n.Status.Allocatable["nvidia.com/gpu"]; gpus.Value() != 8 {
		t.Errorf("%s GPUs, want 8", &gpus)
	}
	v, err := c.Client().Discovery().ServerVersion()
	if err != nil || v.Major != "1" || v.Minor != "37" {
		t.Errorf("version %+v, %v; want 1.37", v, err)
	}
}

func testPod(t *testing.T, c *Cluster) {
	since := time.Now()
	ns := c.NamespaceT(t, "pod")
	client, err := kubernetes.NewForConfig(c.Config("pod-test/1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods(ns).Create(t.Context(), pod("p", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := eventually(t, c, ns, "p", isReady)
	if !strings.HasPrefix(p.Spec.NodeName, "node-") || p.Status.PodIP == "" {
		t.Errorf("node %q, address %q", p.Spec.NodeName, p.Status.PodIP)
	}

	created, err := c.Audit(AuditFilter{UserAgent: "pod-test/", Namespace: ns, Since: since})
	if err != nil || len(created) != 1 {
		t.Fatalf("%v; audited:\n%swant one creation", err, Summary(created))
	}
	if want := "     1 pod-test/1 create pods 201\n"; Summary(created) != want {
		t.Errorf("summary %q, want %q", Summary(created), want)
	}
	if created[0].RequestObject == nil || created[0].ResponseObject == nil {
		t.Error("bodies of pods are not audited")
	}
	reports, err := c.Audit(AuditFilter{User: kwokUser, Resource: "pods/status", Namespace: ns, Writes: true})
	if err != nil || len(reports) == 0 {
		t.Errorf("%v; no report of kwok audited", err)
	}
}

// testKwokPolicies acts as kwok does when it is late.
func testKwokPolicies(t *testing.T, c *Cluster) {
	ns := c.NamespaceT(t, "kwok")
	cfg, err := c.ClientCert(kwokUser, adminGroup)
	if err != nil {
		t.Fatal(err)
	}
	asKwok := must(kubernetes.NewForConfig(cfg))(t).CoreV1().Pods(ns)
	admin := c.Client().CoreV1().Pods(ns)
	must(admin.Create(t.Context(), pod("bound", nil), metav1.CreateOptions{}))(t)
	eventually(t, c, ns, "bound", isReady)
	if err := asKwok.Delete(t.Context(), "bound", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "not terminating") {
		t.Errorf("late delete: %v", err)
	}
	if err := admin.Delete(t.Context(), "bound", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, c, ns, "bound", isGone)

	gated := pod("gated", nil)
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "test/gate"}}
	must(admin.Create(t.Context(), gated, metav1.CreateOptions{}))(t)
	_, err = asKwok.Patch(t.Context(), "gated", types.StrategicMergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	if err == nil || !strings.Contains(err.Error(), "not bound") {
		t.Errorf("late status: %v", err)
	}
}

func testAnnotations(t *testing.T, c *Cluster) {
	ns := c.NamespaceT(t, "annotations")
	pods := c.Client().CoreV1().Pods(ns)
	annotate := func(t *testing.T, name, key, value string) {
		t.Helper()
		patch := `{"metadata":{"annotations":{"` + key + `":` + value + `}}}`
		must(pods.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
	}
	for name, test := range map[string]struct {
		annotations map[string]string
		then        func(*testing.T, *corev1.Pod)
	}{
		"slow": {map[string]string{AnnotationReadyAfter: "1500ms"}, func(t *testing.T, p *corev1.Pod) {
			start := p.CreationTimestamp.Time
			p = eventually(t, c, ns, "slow", isReady)
			if d := p.Status.StartTime.Sub(start); d < time.Second { // times of the API have seconds
				t.Errorf("Ready after %s", d)
			}
		}},
		"held": {map[string]string{AnnotationHold: ""}, func(t *testing.T, _ *corev1.Pod) {
			eventually(t, c, ns, "held", func(p *corev1.Pod) bool { return p != nil && p.Spec.NodeName != "" })
			time.Sleep(500 * time.Millisecond)
			if p := must(pods.Get(t.Context(), "held", metav1.GetOptions{}))(t); p.Status.Phase != corev1.PodPending {
				t.Errorf("held pod is %s", p.Status.Phase)
			}
			annotate(t, "held", AnnotationHold, "null")
			eventually(t, c, ns, "held", isReady)
		}},
		"unready": {nil, func(t *testing.T, _ *corev1.Pod) {
			eventually(t, c, ns, "unready", isReady)
			annotate(t, "unready", AnnotationUnready, `""`)
			p := eventually(t, c, ns, "unready", func(p *corev1.Pod) bool { return !isReady(p) })
			if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodRunning || len(s) != 1 || s[0].Ready || s[0].RestartCount != 0 {
				t.Errorf("phase %s, containers %+v", p.Status.Phase, s)
			}
			annotate(t, "unready", AnnotationUnready, "null")
			eventually(t, c, ns, "unready", isReady)
		}},
		"restarts": {map[string]string{AnnotationRestartAfter: "100ms"}, func(t *testing.T, _ *corev1.Pod) {
			restarted := func(p *corev1.Pod) bool {
				s := p.Status.ContainerStatuses
				return isReady(p) && len(s) == 1 && s[0].RestartCount == 1 && s[0].LastTerminationState.Terminated != nil
			}
			p := eventually(t, c, ns, "restarts", restarted)
			time.Sleep(500 * time.Millisecond)
			if again := must(pods.Get(t.Context(), "restarts", metav1.GetOptions{}))(t); again.ResourceVersion != p.ResourceVersion {
				t.Errorf("goes on changing: %+v", again.Status)
			}
		}},
		"fails": {map[string]string{AnnotationFailAfter: "100ms"}, func(t *testing.T, _ *corev1.Pod) {
			eventually(t, c, ns, "fails", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed && !isReady(p) })
		}},
		"hangs": {map[string]string{AnnotationHang: ""}, func(t *testing.T, _ *corev1.Pod) {
			eventually(t, c, ns, "hangs", isReady)
			if err := pods.Delete(t.Context(), "hangs", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond)
			if p := must(pods.Get(t.Context(), "hangs", metav1.GetOptions{}))(t); p.DeletionTimestamp == nil {
				t.Error("not terminating")
			}
			annotate(t, "hangs", AnnotationHang, "null")
			eventually(t, c, ns, "hangs", isGone)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.then(t, must(pods.Create(t.Context(), pod(name, test.annotations), metav1.CreateOptions{}))(t))
		})
	}
}

// testIdentities: RBAC holds for users with certificates and for service
// accounts.
func testIdentities(t *testing.T, c *Cluster) {
	ns := c.NamespaceT(t, "identities")
	user := must(c.ClientCert("alice", "testers"))(t)
	account := must(c.ServiceAccount(t.Context(), ns, "default"))(t)
	rbac := c.Client().RbacV1()
	must(rbac.Roles(ns).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{}))(t)
	must(rbac.RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "read"},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "read", APIGroup: rbacv1.GroupName},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.GroupKind, Name: "testers", APIGroup: rbacv1.GroupName},
			{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: ns},
		},
	}, metav1.CreateOptions{}))(t)
	for who, cfg := range map[string]*rest.Config{"user": user, "account": account} {
		client := must(kubernetes.NewForConfig(cfg))(t).CoreV1()
		poll(t, who+" may list pods", func() bool { // the authorizer learns of the binding by a watch
			_, err := client.Pods(ns).List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
		if _, err := client.Services(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists services: %v", who, err)
		}
	}
}

func testGangScheduling(t *testing.T, c *Cluster) {
	if _, err := c.Client().Discovery().ServerResourcesForGroupVersion("scheduling.k8s.io/v1beta1"); err != nil {
		t.Error(err)
	}
}

// testVolumes: a claim is bound, its pod runs, and the volume goes with the claim.
func testVolumes(t *testing.T, c *Cluster) {
	ns := c.NamespaceT(t, "volumes")
	claims := c.Client().CoreV1().PersistentVolumeClaims(ns)
	must(claims.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{}))(t)
	p := pod("user", nil)
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	must(c.Client().CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{}))(t)
	eventually(t, c, ns, "user", isReady)
	volume := must(claims.Get(t.Context(), "data", metav1.GetOptions{}))(t).Spec.VolumeName
	if err := errors.Join(c.Client().CoreV1().Pods(ns).Delete(t.Context(), "user", metav1.DeleteOptions{}),
		claims.Delete(t.Context(), "data", metav1.DeleteOptions{})); err != nil {
		t.Fatal(err)
	}
	poll(t, "deletion of the volume", func() bool {
		_, err := c.Client().CoreV1().PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// testTwo starts a second cluster, without gang scheduling and audit, while the
// first runs.
func testTwo(t *testing.T, first *Cluster) {
	second := StartT(t, Options{
		Nodes: -1, NoGangScheduling: true, NoAudit: true, RaisedLimits: true,
		Stages:    []string{"{apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage, metadata: {name: none}, spec: {resourceRef: {apiGroup: v1, kind: Pod}, selector: {matchLabels: {none: none}}, next: {delete: true}}}"},
		ExtraArgs: map[Component][]string{APIServer: {"--event-ttl=5m"}},
	})
	if first.URL() == second.URL() || first.Dir() == second.Dir() {
		t.Fatalf("they share %s, %s", second.URL(), second.Dir())
	}
	second.NamespaceT(t, "only-here")
	_, err := first.Client().CoreV1().Namespaces().Get(t.Context(), "only-here", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the first cluster has the second's namespace: %v", err)
	}
	if _, err := second.Client().Discovery().ServerResourcesForGroupVersion("scheduling.k8s.io/v1beta1"); !apierrors.IsNotFound(err) {
		t.Errorf("NoGangScheduling, yet v1beta1 is served: %v", err)
	}
	if _, err := second.Audit(AuditFilter{}); err == nil {
		t.Error("NoAudit, yet Audit gives no error")
	}
}

func testRestarts(t *testing.T, c *Cluster) {
	ns := c.NamespaceT(t, "restarts")
	pods := c.Client().CoreV1().Pods(ns)
	before := must(pods.Create(t.Context(), pod("stays", nil), metav1.CreateOptions{}))(t)
	eventually(t, c, ns, "stays", isReady)
	for _, tc := range []struct {
		comp Component
		name string
		end  func(Component)
	}{
		{APIServer, "stop", c.StopComponent},
		{APIServer, "kill", c.KillComponent},
		{Etcd, "kill", c.KillComponent}, // a stop takes it 7 s, as long as it has clients
	} {
		start := time.Now()
		tc.end(tc.comp)
		t.Logf("%s of %s: %s", tc.name, tc.comp, time.Since(start).Round(time.Millisecond))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := pods.List(ctx, metav1.ListOptions{}); err == nil {
			t.Errorf("%s of %s: the API server still answers", tc.name, tc.comp)
		}
		cancel()
		if err := c.StartComponent(t.Context(), tc.comp); err != nil {
			t.Fatal(err)
		}
		if err := c.waitReady(t.Context(), APIServer); err != nil {
			t.Fatal(err)
		}
		t.Logf("usable again after %s", time.Since(start).Round(time.Millisecond))
		if p := must(pods.Get(t.Context(), "stays", metav1.GetOptions{}))(t); p.UID != before.UID {
			t.Errorf("%s of %s: another pod", tc.name, tc.comp)
		}
	}
	// The others have survived it.
	must(pods.Create(t.Context(), pod("new", nil), metav1.CreateOptions{}))(t)
	eventually(t, c, ns, "new", isReady)
}

func TestStartFailureShowsLog(t *testing.T) {
	var progress strings.Builder
	_, err := Start(t.Context(), Options{Progress: &progress, ExtraArgs: map[Component][]string{APIServer: {"--no-such-flag"}}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") || !strings.Contains(err.Error(), "kube-apiserver.log") {
		t.Errorf("got %v", err)
	}
}
