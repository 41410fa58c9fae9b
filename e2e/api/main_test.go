package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"lws-controller/api/client"
	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
)

const (
	crdFile    = "../../deploy/crd/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
	policyFile = "../../deploy/policy/annotations.yaml"
	crdName    = lwsv1.Resource + "." + lwsv1.GroupName
)

// Shared by all tests.
var (
	control *cluster.Cluster
	sets    *client.Client
	dyn     dynamic.Interface
)

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if control, err = cluster.Start(ctx, cluster.Options{Nodes: -1}); err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := control.Stop(); err == nil {
			err = stopErr
		}
	}()
	if err := setUp(ctx); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// setUp stores the broken objects, then installs CRD and policy as a user does:
// kubectl apply, client-side.
func setUp(ctx context.Context) (err error) {
	config := control.Config("api-test")
	config.WarningHandler = rest.NoWarnings{} // stored objects that break rules get many
	if sets, err = client.New(config); err != nil {
		return err
	}
	if dyn, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if err := storeBroken(ctx); err != nil {
		return fmt.Errorf("storing objects that break the rules: %w", err)
	}
	for _, file := range []string{crdFile, policyFile} {
		if out, err := runKubectl("", "apply", "-f", file); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	// Rules and policy come into force a moment after they are stored.
	for _, probe := range []map[string]any{
		with(minimal("probe"), `spec: {leaderWorkerTemplate: {size: 0}}`),
		with(minimal("probe"), `metadata: {annotations: {rollout.leaderworkerset.x-k8s.io/undo: nonsense}}`),
	} {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return create(ctx, "default", probe, metav1.DryRunAll) != nil, nil
		})
		if err != nil {
			return fmt.Errorf("not refused: %v", probe)
		}
	}
	return nil
}

// minimal is the smallest valid set.
func minimal(name string) map[string]any {
	return fromYAML(`
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: ` + name + `}
spec:
  leaderWorkerTemplate:
    workerTemplate:
      spec:
        containers: [{name: c, image: i}]
`)
}

func fromYAML(text string) map[string]any {
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		panic(fmt.Sprintf("%v in %s", err, text))
	}
	return v
}

// with returns object with the YAML patches merged into it, in order. A null
// stays a null: it is what is to be sent.
func with(object map[string]any, patches ...string) map[string]any {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	object = fromYAML(string(data)) // a copy
	for _, p := range patches {
		merge(object, fromYAML(p))
	}
	return object
}

func merge(into, patch map[string]any) {
	for k, v := range patch {
		below, isMap := v.(map[string]any)
		target, hasMap := into[k].(map[string]any)
		if isMap && hasMap {
			merge(target, below)
		} else {
			into[k] = v
		}
	}
}

func resource(namespace string) dynamic.ResourceInterface {
	return dyn.Resource(lwsv1.GroupVersionResource).Namespace(namespace)
}

func create(ctx context.Context, namespace string, object map[string]any, dryRun ...string) error {
	_, err := resource(namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{DryRun: dryRun})
	return err
}

// runKubectl returns standard output and, if it fails, all output.
func runKubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(control.Kubectl(), append([]string{"--kubeconfig", control.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	if err := cmd.Run(); err != nil {
		return out.String() + all.String(), fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), nil
}

func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := runKubectl(stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// refused fails the test unless err is a refusal whose message contains part.
func refused(t *testing.T, what string, err error, part string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s was accepted; want %q", what, part)
	case !strings.Contains(err.Error(), part):
		t.Errorf("%s was refused with\n%v\nwant %q", what, err, part)
	case strings.Contains(err.Error(), "no such key") || strings.Contains(err.Error(), "failed to evaluate") ||
		strings.Contains(err.Error(), "division by zero") || strings.Contains(err.Error(), "rule returned an error"):
		t.Errorf("%s: a rule crashed: %v", what, err)
	}
}
