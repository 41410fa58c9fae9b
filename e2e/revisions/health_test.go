package revisions

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// object reads the set as clients that know no types do.
func object(t *testing.T, set *harness.Set) map[string]any {
	t.Helper()
	data, err := env.Sets.RESTClient().Get().Namespace(set.Namespace).Resource("leaderworkersets").Name(set.Name).Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// healthScript is the script that deploy/ has for Argo CD.
func healthScript(t *testing.T) string {
	t.Helper()
	manifest, err := os.ReadFile("../../deploy/argocd/health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings corev1.ConfigMap
	if err := yaml.UnmarshalStrict(manifest, &settings); err != nil {
		t.Fatal(err)
	}
	script := settings.Data["resource.customizations.health.leaderworkerset.x-k8s.io_LeaderWorkerSet"]
	if script == "" || settings.Name != "argocd-cm" {
		t.Fatalf("no health script in %s", manifest)
	}
	return script
}

// health is what the script for Argo CD makes of an object, run as Argo CD does:
// without libraries that reach outside.
func health(t *testing.T, script string, object map[string]any) (is, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	lua.OpenBase(l)
	lua.OpenTable(l)
	l.SetGlobal("obj", luaValue(l, object))
	if err := l.DoString(script); err != nil {
		t.Fatalf("health script: %v", err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the health script returns %v", l.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, value := range v {
			table.RawSetString(key, luaValue(l, value))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, value := range v {
			table.Append(luaValue(l, value))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	default:
		return lua.LNil
	}
}

// judged waits until kstatus (which Helm and Flux wait by) and Argo CD see the set as
// wanted.
func judged(t *testing.T, set *harness.Set, generic status.Status, argo string) {
	t.Helper()
	script := healthScript(t)
	harness.WaitFor(t, fmt.Sprintf("kstatus %s and health %s", generic, argo), harness.DefaultTimeout, func() (bool, string) {
		o := object(t, set)
		result, err := status.Compute(&unstructured.Unstructured{Object: o})
		if err != nil {
			t.Fatal(err)
		}
		is, message := health(t, script, o)
		return result.Status == generic && is == argo && message != "",
			fmt.Sprintf("kstatus %s (%s), health %s (%s)\n%s", result.Status, result.Message, is, message, env.Describe(t, env.Get(t, set)))
	})
}

// TestHealth takes a set through all states that others wait for.
func TestHealth(t *testing.T) {
	t.Parallel()
	set := env.Create(t, harness.NewSet(env.Namespace(t), "web", harness.Replicas(2), image("1"), held))
	env.WaitCondition(t, set, lwsv1.ConditionProgressing, metav1.ConditionTrue)
	judged(t, set, status.InProgressStatus, "Progressing")
	letGo(t, set, "the set to be Available", rolled)
	judged(t, set, status.CurrentStatus, "Healthy")
	env.Kubectl(t, "wait", "-n", set.Namespace, "lws/web", "--for=condition=Available", "--timeout=30s")
	env.Kubectl(t, "wait", "-n", set.Namespace, "lws/web", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=30s")
	env.Kubectl(t, "wait", "-n", set.Namespace, "lws/web", "--for=condition=Progressing=false", "--timeout=30s")

	// Paused, with a change that waits: it serves, and nothing is to be waited for.
	change(t, set, harness.Annotation(lwsv1.AnnotationPaused, "true"), image("2"), held)
	env.WaitCondition(t, set, lwsv1.ConditionRolloutPaused, metav1.ConditionTrue)
	judged(t, set, status.CurrentStatus, "Suspended")
	env.Kubectl(t, "wait", "-n", set.Namespace, "lws/web", "--for=condition=Available", "--timeout=30s")

	// It goes on, and gets nowhere.
	change(t, set, harness.Annotation(lwsv1.AnnotationPaused, ""))
	judged(t, set, status.InProgressStatus, "Progressing")
	change(t, set, harness.Annotation(lwsv1.AnnotationProgressDeadline, "2s"))
	env.WaitCondition(t, set, lwsv1.ConditionStalled, metav1.ConditionTrue)
	judged(t, set, status.FailedStatus, "Degraded")

	// The spec before helps.
	change(t, set, image("1"))
	letGo(t, set, "the set to be Available", rolled)
	judged(t, set, status.CurrentStatus, "Healthy")
	env.Scale(t, set, 0)
	judged(t, set, status.CurrentStatus, "Healthy")
}

// A set that needs a person is Degraded for Argo CD. For those that wait it is on its
// way: what is in the way may go.
func TestHealthWhereANameIsTaken(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-0"}, Spec: harness.Template("other").Spec}
	if _, err := env.Kube.CoreV1().Pods(ns).Create(t.Context(), stranger, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set := env.Create(t, harness.NewSet(ns, "web"))
	env.WaitCondition(t, set, lwsv1.ConditionDegraded, metav1.ConditionTrue)
	judged(t, set, status.InProgressStatus, "Degraded")
	env.DeletePod(t, ns, "web-0")
	env.WaitAvailable(t, set)
	judged(t, set, status.CurrentStatus, "Healthy")
}

// TestHealthOfWhatIsNotSeenYet: a spec that the controller has not seen is not taken
// for done, whatever the status says of the one before.
func TestHealthOfWhatIsNotSeenYet(t *testing.T) {
	script := healthScript(t)
	for name, o := range map[string]string{
		"no status":           `{"metadata":{"generation":1}}`,
		"an older spec":       `{"metadata":{"generation":2},"status":{"observedGeneration":1,"conditions":[{"type":"Available","status":"True"}]}}`,
		"no condition":        `{"metadata":{"generation":1},"status":{"observedGeneration":1}}`,
		"it is being deleted": `{"metadata":{"generation":1,"deletionTimestamp":"2026-12-01T10:00:00Z"},"status":{"observedGeneration":1,"conditions":[{"type":"Available","status":"True"}]}}`,
	} {
		var decoded map[string]any
		if err := json.Unmarshal([]byte(o), &decoded); err != nil {
			t.Fatal(err)
		}
		if is, message := health(t, script, decoded); is != "Progressing" || message == "" {
			t.Errorf("%s: health %s (%s), want Progressing", name, is, message)
		}
	}
}
