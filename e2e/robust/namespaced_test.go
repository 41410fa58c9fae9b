package robust

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestNamespaced installs deploy/namespaced into a namespace, and runs a controller
// with the arguments of its Deployment, as its service account. Sets elsewhere are
// not touched, nor even looked for.
func TestNamespaced(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	elsewhere := env.Cluster.NamespaceT(t, ns+"-elsewhere")
	applyNamespaced(t, ns)
	args := managerArgs(t, ns)
	if !strings.Contains(strings.Join(args, " "), "--namespace="+ns) {
		t.Fatalf("the Deployment's arguments lack the namespace: %q", args)
	}
	config, err := env.Cluster.ServiceAccount(t.Context(), ns, managerName)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	// A pod finds its namespace, and with it that of the lease, in a file.
	ctl := harness.StartController(t, env.Cluster, append(args, "--kubeconfig="+kubeconfig, "--leader-elect=true", "--leader-elect-namespace="+ns)...)
	ctl.Ready(t)

	other := env.Create(t, harness.NewSet(elsewhere, "web", harness.Size(2)))
	set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2), harness.UniquePerReplica))
	env.WaitAvailable(t, set)
	recreate(t, env, set)
	env.Scale(t, set, 1)
	env.WaitAvailable(t, set)
	ctl.Stop(t)

	user := fmt.Sprintf("system:serviceaccount:%s:%s", ns, managerName)
	for _, ev := range audit(t, env, cluster.AuditFilter{User: user}) {
		if o := ev.ObjectRef; o != nil && o.Namespace != ns {
			t.Errorf("request outside of the namespace: %s %s", ev.Verb, ev.RequestURI)
		}
	}
	if pods := env.Pods(t, other); len(pods) > 0 {
		t.Errorf("a set elsewhere got pods:\n%s", env.Describe(t, other))
	}
	if got := env.Get(t, other); got.Status.ObservedGeneration != 0 || len(got.Finalizers) > 0 {
		t.Errorf("a set elsewhere was touched: %+v", got.Status)
	}
}

// applyNamespaced applies an overlay of deploy/namespaced that names the namespace,
// as its comment says.
func applyNamespaced(t *testing.T, namespace string) {
	t.Helper()
	base, err := filepath.Abs(filepath.Join(source, "deploy", "namespaced"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	relative, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	overlay := fmt.Sprintf("namespace: %s\nresources: [%q]\n", namespace, relative)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-k", dir)
}

func kubectl(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), env.Cluster.Kubectl(), append([]string{"--kubeconfig", env.Cluster.Kubeconfig()}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// managerArgs are the arguments in the Deployment, as its pod would see them.
func managerArgs(t *testing.T, namespace string) []string {
	t.Helper()
	d, err := env.Kube.AppsV1().Deployments(namespace).Get(t.Context(), managerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	var args []string
	for _, arg := range container.Args {
		for _, v := range container.Env {
			value := v.Value
			if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
				value = namespace
			}
			arg = strings.ReplaceAll(arg, "$("+v.Name+")", value)
		}
		args = append(args, arg)
	}
	return args
}
