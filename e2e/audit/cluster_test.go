package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"lws-controller/api/client"
	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/audit"
	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// TestOnACluster has a run in which all goes well, and others in which something is
// broken on purpose, each in a namespace with a controller of its own.
func TestOnACluster(t *testing.T) {
	c := cluster.StartT(t, cluster.Options{RaisedLimits: true})
	harness.Install(t, c)
	// Made by hand: an Env of the harness would fail the test for what is broken.
	e := &harness.Env{Cluster: c}
	var err error
	if e.Kube, err = kubernetes.NewForConfig(c.Config(harness.TestAgent)); err != nil {
		t.Fatal(err)
	}
	if e.Sets, err = client.New(c.Config(harness.TestAgent)); err != nil {
		t.Fatal(err)
	}
	t.Run("AllWell", func(t *testing.T) { allWell(t, e) })
	t.Run("ForcedDeletion", func(t *testing.T) { forcedDeletion(t, e) })
	t.Run("FloorLowered", func(t *testing.T) { floorLowered(t, e) })
}

// allWell makes every kind of write. It is what testdata records.
func allWell(t *testing.T, e *harness.Env) {
	ns := e.Cluster.NamespaceT(t, "recorded")
	start(t, e, ns, program(t, nil))
	set := e.WaitAvailable(t, e.Create(t, harness.NewSet(ns, "web", harness.Replicas(2), harness.Size(2))))
	e.Update(t, set, newImage)
	waitUpdated(t, e, set)
	lost := e.Pod(t, ns, "web-1-1").UID
	e.DeletePod(t, ns, "web-1-1")
	waitReplaced(t, e, set, lost)
	e.Scale(t, set, 1)
	e.WaitAvailable(t, set)
	e.AtRest(t, ns)
	if v := e.Verdict(t, ns); v.Controllers == 0 || v.Lost > 0 {
		t.Error(v)
	}
	if *audit.RecordFlag {
		record(t, e.Cluster, ns)
	}
}

// forcedDeletion has somebody who says to be the controller delete a pod by force.
func forcedDeletion(t *testing.T, e *harness.Env) {
	ns := e.Cluster.NamespaceT(t, "forced")
	start(t, e, ns, program(t, nil))
	set := e.WaitAvailable(t, e.Create(t, harness.NewSet(ns, "web", harness.Size(2))))
	impostor, err := kubernetes.NewForConfig(e.Cluster.Config(audit.ControllerAgent + "impostor"))
	if err != nil {
		t.Fatal(err)
	}
	lost, zero := e.Pod(t, ns, "web-0-1").UID, int64(0)
	if err := impostor.CoreV1().Pods(ns).Delete(t.Context(), "web-0-1", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	assertBroken(t, e, ns, "S1: pod web-0-1 deleted by force")
	waitReplaced(t, e, set, lost)
}

// floorLowered runs a controller that takes one group more down than it may.
func floorLowered(t *testing.T, e *harness.Env) {
	ns := e.Cluster.NamespaceT(t, "floor")
	start(t, e, ns, program(t, map[string]*strings.Replacer{
		"controller/rollout/update.go": strings.NewReplacer("at.floor = established - p.Budget.Unavailable", "at.floor = established - p.Budget.Unavailable - 1"),
	}))
	set := e.WaitAvailable(t, e.Create(t, harness.NewSet(ns, "web", harness.Replicas(4), harness.Size(2), func(s *harness.Set) {
		s.Spec.RolloutStrategy.RollingUpdateConfiguration = &lwsv1.RollingUpdateConfiguration{MaxUnavailable: intstr.FromInt32(1)}
	})))
	e.Update(t, set, newImage)
	waitUpdated(t, e, set)
	assertBroken(t, e, ns, "S7: groups")
}

func assertBroken(t *testing.T, e *harness.Env, namespace, want string) {
	t.Helper()
	r, err := audit.Read(t.Context(), e.Cluster, namespace)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Judge(false).Err()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	t.Logf("as it should be: %v", err)
}

func start(t *testing.T, e *harness.Env, namespace, program string) {
	t.Helper()
	harness.StartProgram(t, e.Cluster, program, "--namespace="+namespace).Ready(t)
}

// source is the folder of the main module.
const source = "../.."

// program builds the controller, with changes to files of its source.
func program(t *testing.T, changes map[string]*strings.Replacer) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for name, change := range changes {
		file, err := filepath.Abs(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		after := change.Replace(string(before))
		if after == string(before) {
			t.Fatalf("%s does not have what is to be changed", name)
		}
		replace[file] = filepath.Join(dir, filepath.Base(name))
		write(t, replace[file], []byte(after))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), overlay)
	out := filepath.Join(dir, "lws-controller")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", source, "-buildvcs=false", "-overlay", filepath.Join(dir, "overlay.json"), "-o", out, ".")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the controller: %v\n%s", err, text)
	}
	return out
}

func newImage(set *harness.Set) {
	set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "example.com/worker:2"
}

func waitUpdated(t *testing.T, e *harness.Env, set *harness.Set) {
	t.Helper()
	harness.WaitFor(t, "the update", harness.DefaultTimeout, func() (bool, string) {
		s := e.Get(t, set)
		return s.Status.ObservedGeneration == s.Generation && s.Status.UpdatedReplicas == *s.Spec.Replicas &&
			s.Status.CurrentRevision == s.Status.UpdateRevision, e.Describe(t, s)
	})
}

// waitReplaced waits until a pod is gone and the set is Available again.
func waitReplaced(t *testing.T, e *harness.Env, set *harness.Set, lost types.UID) {
	t.Helper()
	harness.WaitFor(t, "another pod", harness.DefaultTimeout, func() (bool, string) {
		s := e.Get(t, set)
		pods := e.Pods(t, set)
		for _, p := range pods {
			if p.UID == lost {
				return false, e.Describe(t, s)
			}
		}
		return len(pods) == int(*s.Spec.Replicas**s.Spec.LeaderWorkerTemplate.Size), e.Describe(t, s)
	})
	e.WaitAvailable(t, set)
}

// record writes what happened in a namespace into testdata: of the audit log what
// is read of it.
func record(t *testing.T, c *cluster.Cluster, namespace string) {
	t.Helper()
	r, err := audit.Read(context.Background(), c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	path, err := r.Save("testdata")
	if err != nil {
		t.Fatal(err)
	}
	withoutManagers(t, path)
	events, err := c.Audit(cluster.AuditFilter{Namespace: namespace, Writes: true})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for i := range events {
		if ok, err := audit.Shorten(&events[i]); err != nil {
			t.Fatal(err)
		} else if !ok {
			continue
		}
		if err := json.NewEncoder(&log).Encode(events[i]); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join("testdata", "audit.log"), log.Bytes())
}

// withoutManagers drops from a history what is long and rarely read.
func withoutManagers(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if o, ok := l["object"].(map[string]any); ok {
			delete(o["metadata"].(map[string]any), "managedFields")
		}
		if err := json.NewEncoder(&out).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, out.Bytes())
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
