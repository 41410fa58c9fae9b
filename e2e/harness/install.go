package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"lws-controller/api/client"
	"lws-controller/e2e/cluster"
)

// serviceAccount is the user that deploy/rbac gives the controller's rights to.
const serviceAccount = "system:serviceaccount:kube-system:lws-controller-manager"

// notInstalled are the kinds of deploy/ that would run the controller in the
// cluster: here it runs as a process of the test.
var notInstalled = map[string]bool{"Deployment": true, "PodDisruptionBudget": true}

// Install applies deploy/ without its Deployment: CRD, policy, roles. It returns
// when rules and policy are in force.
func Install(t testing.TB, c *cluster.Cluster) {
	t.Helper()
	if err := install(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func install(ctx context.Context, c *cluster.Cluster) error {
	source, err := sourceDir()
	if err != nil {
		return err
	}
	manifests, err := exec.CommandContext(ctx, c.Kubectl(), "kustomize", filepath.Join(source, "deploy")).Output()
	if err != nil {
		return fmt.Errorf("kubectl kustomize: %w%s", err, stderrOf(err))
	}
	if manifests, err = withoutWorkloads(manifests); err != nil {
		return err
	}
	apply := exec.CommandContext(ctx, c.Kubectl(), "--kubeconfig", c.Kubeconfig(), "apply", "--server-side", "-f", "-")
	apply.Stdin = bytes.NewReader(manifests)
	if out, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, out)
	}
	return inForce(ctx, c)
}

func withoutWorkloads(manifests []byte) ([]byte, error) {
	var kept [][]byte
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(manifests)))
	defer documents.Close()
	buffer := make([]byte, len(manifests))
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return bytes.Join(kept, []byte("\n---\n")), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		document := bytes.Clone(buffer[:n])
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("reading the manifests: %w", err)
		}
		if !notInstalled[kind.Kind] {
			kept = append(kept, document)
		}
	}
}

// inForce waits until the API server serves the resource and refuses, by the
// policy, what the policy forbids. It takes policies up a moment after they are
// stored.
func inForce(ctx context.Context, c *cluster.Cluster) error {
	sets, err := client.New(c.Config(cluster.LauncherAgent))
	if err != nil {
		return err
	}
	probe := NewSet("default", "install-probe", func(set *Set) {
		set.Annotations = map[string]string{"rollout.leaderworkerset.x-k8s.io/undo": "nonsense"}
	})
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = sets.LeaderWorkerSets("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return last != nil && !apierrors.IsNotFound(last) && strings.Contains(last.Error(), "rollout.leaderworkerset.x-k8s.io/undo"), nil
	})
	if err != nil {
		return fmt.Errorf("the policy is not in force: %w; last answer: %v", err, last)
	}
	return nil
}
