package kubectl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests; bin is a folder with kubectl and the plugin, by both of
// its names.
var (
	env *harness.Env
	bin string
)

func TestMain(m *testing.M) {
	code, err := func() (int, error) {
		var err error
		if bin, err = os.MkdirTemp("", "kubectl-lws-"); err != nil {
			return 1, err
		}
		defer os.RemoveAll(bin)
		program := filepath.Join(bin, "kubectl-lws")
		if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, ".").CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building the plugin: %w\n%s", err, out)
		}
		if err := os.Symlink("kubectl-lws", filepath.Join(bin, "kubectl_complete-lws")); err != nil {
			return 1, err
		}
		return harness.Main(m, cluster.Options{RaisedLimits: true}, &env), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// person runs kubectl as somebody, in a namespace.
type person struct {
	t                     *testing.T
	namespace, kubeconfig string
}

// somebody has the rights of a role that every cluster has, in the namespace; of none
// if it is empty.
func somebody(t *testing.T, namespace, role string) *person {
	t.Helper()
	user := "user-" + role + "-" + namespace
	config, err := env.Cluster.ClientCert(user, "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, namespace: namespace, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := cluster.WriteKubeconfig(p.kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	if role == "" {
		return p
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	if _, err := env.Kube.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Aggregated roles and caches of rights take a moment.
	verb := map[string]string{"view": "list", "edit": "patch"}[role]
	harness.WaitFor(t, "the rights of "+user, harness.DefaultTimeout, func() (bool, string) {
		_, out, stderr := p.run("auth", "can-i", verb, "leaderworkersets.leaderworkerset.x-k8s.io")
		return strings.TrimSpace(out) == "yes", out + stderr
	})
	return p
}

// command is kubectl with these words.
func (p *person) command(args ...string) *exec.Cmd {
	kubectl := env.Cluster.Kubectl()
	cmd := exec.CommandContext(p.t.Context(), kubectl, args...)
	cmd.Env = []string{"HOME=" + filepath.Dir(p.kubeconfig), "KUBECONFIG=" + p.kubeconfig,
		"PATH=" + bin + ":" + filepath.Dir(kubectl)}
	return cmd
}

// run runs kubectl in the namespace.
func (p *person) run(args ...string) (status int, stdout, stderr string) {
	p.t.Helper()
	cmd := p.command(append(args, "-n", p.namespace)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// lws runs the plugin, which must succeed, and returns what it printed.
func (p *person) lws(args ...string) string {
	p.t.Helper()
	status, out, stderr := p.run(append([]string{"lws"}, args...)...)
	if status != 0 || stderr != "" {
		p.t.Fatalf("kubectl lws %v: exit status %d, %s%s", args, status, out, stderr)
	}
	return out
}

// fails runs the plugin, which must end with this status and say why in one line that
// contains all parts.
func (p *person) fails(status int, args []string, parts ...string) {
	p.t.Helper()
	got, _, stderr := p.run(append([]string{"lws"}, args...)...)
	if got != status || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: ") {
		p.t.Errorf("kubectl lws %v: exit status %d, want %d and one line: %s", args, got, status, stderr)
	}
	for _, part := range parts {
		if !strings.Contains(stderr, part) {
			p.t.Errorf("kubectl lws %v says %q, want %q in it", args, stderr, part)
		}
	}
}

// contains fails the test unless the text has all parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}
