package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/controller/rollout"
)

const (
	published = "leaderworkerset.sigs.k8s.io/"
	steering  = "rollout.leaderworkerset.x-k8s.io/"
	topology  = "topology.leaderworkerset.x-k8s.io/"
)

// Kubernetes checks the policy's expressions against the CRD.
func TestPolicyTypes(t *testing.T) {
	const name = "validatingadmissionpolicy/lws-controller-annotations"
	kubectl(t, "", "wait", "--for=jsonpath={.status.observedGeneration}", "--timeout=60s", name)
	if warnings := kubectl(t, "", "get", name, "-o", "jsonpath={.status.typeChecking.expressionWarnings}"); warnings != "" {
		t.Errorf("warnings: %s", warnings)
	}
}

// Values of one annotation each, and a part of the message for the bad ones.
var annotationRules = []struct {
	key       string
	good, bad []string
	message   string
}{
	{published + "exclusive-topology", []string{"rack", "topology.kubernetes.io/zone"}, []string{"", "a b", "a/b/c"}, "must be the key of a node label, like topology.kubernetes.io/zone"},
	{topology + "colocate", []string{"rack"}, []string{"", "-"}, "must be the key of a node label"},
	{topology + "exclusive-scope", []string{"Namespace", "Set", "Cluster"}, []string{"", "set", "All"}, "must be Namespace, Set or Cluster"},
	{published + "recover", []string{"true"}, []string{"", "false", "yes"}, `must be "true"`},
	{steering + "paused", []string{"true"}, []string{"", "false", "yes", "True"}, `must be "true"; remove the annotation to continue the rollout`},
	{steering + "partition", []string{"0", "007", "999999999", "0%", "50%", "100%", "0000000000050%"}, []string{"", "-1", "+1", "1000000000", "101%", "%", "1.5%", "all", "1.5", " 1", "1_0"}, "must be a number of groups or a percentage up to 100%, like 2 or 25%"},
	{steering + "max-unavailable", []string{"0", "1", "25%"}, []string{"", "-1", "120%"}, "must be a number of groups or a percentage up to 100%, like 2 or 25%"},
	{steering + "max-surge", []string{"0", "25%"}, []string{"", "-1", "120%"}, "must be a number of groups or a percentage up to 100%, like 2 or 25%"},
	{steering + "min-ready", []string{"0s", "30s", "1h30m", "1.5h", "100ms", "30m1h", "604800s", "99999h99999h99999h"}, []string{"", "0", "30", "-1s", "+1s", "1d", "soon", "s", ".5s", "1us", "999999h", "1s1s1s1s"}, "must be a duration, like 30s or 1h30m"},
	{steering + "progress-deadline", []string{"10m", "1ms"}, []string{"", "0s", "0h0m", "10", "never"}, "must be a duration above 0, like 10m"},
	{topology + "replace-after", []string{"30s", "10m"}, []string{"", "29s", "5"}, "must be a duration of at least 30s, like 10m"},
	{steering + "force-delete-after", []string{"30s", "5m", "1m30s"}, []string{"", "29s", "29999ms", "0s", "-5m", "5"}, "must be a duration of at least 30s, like 5m"},
	{steering + "restarted-at", []string{"2026-12-01T10:00:00Z", "2026-12-01T10:00:00.5+02:00", "2028-02-29T23:59:59.123456789-23:59"}, []string{"", "now", "2026-12-01", "2026-02-31T10:00:00Z", "2026-02-29T10:00:00Z", "2026-12-01t10:00:00z", "2026-12-01T10:00:00", "2026-12-01T24:00:00Z", "2026-12-01T10:00:60Z", "2026-12-01T10:00:00,5Z", "2026-12-01T10:00:00+24:00", "2026-12-01T10:00:00+02:60", "2026-12-01 10:00:00Z"}, "must be a time in RFC 3339, like 2026-12-01T10:00:00Z"},
	{steering + "undo", []string{"previous", "3", "999999999999999999"}, []string{"", "0", "03", "-1", "+1", "1000000000000000000", "last", "Previous", "true"}, "must be previous or the number of a revision, like 3"},
	{steering + "recycle", []string{"3@2026-12-01T10:00:00Z", "3,5-7@2026-12-01T10:00:00Z", "7-7,0-9999999@2026-12-01T10:00:00+02:00"}, []string{"", "7-5@2026-12-01T10:00:00Z", "1,10-9@2026-12-01T10:00:00Z", "5-@2026-12-01T10:00:00Z", "1-2-3@2026-12-01T10:00:00Z", "10000000@2026-12-01T10:00:00Z", "1 @2026-12-01T10:00:00Z", "1@2026-12-01T10:00:00+24:00", "3", "3@", "@2026-12-01T10:00:00Z", "3,@2026-12-01T10:00:00Z", "a@2026-12-01T10:00:00Z", "3@tomorrow", "3@2026-02-31T10:00:00Z", "3@2026-12-01T10:00:00Z@", strings.Repeat("1,", 2048) + "1@2026-12-01T10:00:00Z"}, "must be group indexes and a time in RFC 3339, like 3,5-7@2026-12-01T10:00:00Z"},
	{steering + "disruption-budget", []string{"1", "2", "007", "999999999"}, []string{"", "0", "000", "-1", "+1", "10%", "one", "1000000000"}, "must be a number of groups of at least 1, like 1"},
	{steering + "revision-history-limit", []string{"0", "10", "999999999"}, []string{"", "-1", "+1", "1000000000", "all"}, "must be a number of revisions, like 10"},
	{steering + "puased", nil, []string{"true"}, "annotations with the prefix " + steering + " are: paused, partition"},
	{topology + "exclusive", nil, []string{"rack"}, "annotations with the prefix " + topology + " are: exclusive-scope, colocate, replace-after"},
	{"example.com/paused", []string{"", "maybe"}, nil, ""},
	{published + "size", []string{"", "anything"}, nil, ""},
}

func annotation(key, value string) string {
	return fmt.Sprintf("metadata: {annotations: {%s: %q}}", key, value)
}

func TestAnnotationRules(t *testing.T) {
	for _, row := range annotationRules {
		t.Run(strings.ReplaceAll(row.key, "/", ":"), func(t *testing.T) {
			for _, v := range row.good {
				if err := create(t.Context(), "default", with(minimal("good"), annotation(row.key, v)), metav1.DryRunAll); err != nil {
					t.Errorf("%q was refused: %v", v, err)
				}
				readAlike(t, row.key, v, nil)
			}
			for _, v := range row.bad {
				err := create(t.Context(), "default", with(minimal("bad"), annotation(row.key, v)), metav1.DryRunAll)
				refused(t, fmt.Sprintf("%q", v), err, row.message)
				readAlike(t, row.key, v, err)
				if err != nil && !strings.Contains(err.Error(), "refix") && !strings.Contains(err.Error(), "annotation "+row.key) {
					t.Errorf("the message does not name the annotation: %v", err)
				}
			}
		})
	}
}

// notSteering are annotations with that prefix which ReadSteering knows nothing of.
var notSteering = []string{steering + "puased"}

// readAlike fails the test unless the controller understands what the policy lets
// pass, and nothing else, and names the same form.
func readAlike(t *testing.T, key, value string, refusal error) {
	t.Helper()
	if !strings.HasPrefix(key, steering) || slices.Contains(notSteering, key) {
		return
	}
	_, problems := rollout.ReadSteering(map[string]string{key: value})
	switch {
	case refusal == nil && len(problems) > 0:
		t.Errorf("%q is accepted, but the controller says: %v", value, problems)
	case refusal != nil && len(problems) != 1:
		t.Errorf("%q is refused, but the controller reads it", value)
	case refusal != nil && !strings.Contains(refusal.Error(), "must be "+problems[0].Want):
		t.Errorf("%q: the policy says\n%v\nthe controller wants %s", value, refusal, problems[0].Want)
	}
}

// Annotations together with the spec.
func TestAnnotationAndSpecRules(t *testing.T) {
	const gang = `spec: {scheduling: {}}`
	const basic = `spec: {scheduling: {schedulingPolicy: {basic: {}}}}`
	exclusive, colocate := annotation(published+"exclusive-topology", "rack"), annotation(topology+"colocate", "rack")
	subExclusive := annotation(published+"subgroup-exclusive-topology", "rack")
	for _, row := range []struct {
		patches []string
		message string // of the refusal; accepted when empty
	}{
		{[]string{subExclusive, sub(8, `{subGroupSize: 4}`)}, ""},
		{[]string{subExclusive}, published + "subgroup-exclusive-topology needs a spec.leaderWorkerTemplate.subGroupPolicy"},
		{[]string{exclusive, basic}, ""},
		{[]string{colocate, basic}, ""},
		{[]string{exclusive, gang}, published + "exclusive-topology cannot be used with gang scheduling, which needs all pods at once: use spec.scheduling.schedulingConstraints"},
		{[]string{colocate, gang}, topology + "colocate cannot be used with gang scheduling"},
	} {
		err := create(t.Context(), "default", with(minimal("set"), row.patches...), metav1.DryRunAll)
		if row.message != "" {
			refused(t, fmt.Sprint(row.patches), err, row.message)
		} else if err != nil {
			t.Errorf("%s was refused: %v", row.patches, err)
		}
	}
}

// The policy sees changes made by annotate, and of the spec beside annotations.
func TestAnnotationChanges(t *testing.T) {
	ns := control.NamespaceT(t, "annotations")
	if err := create(t.Context(), ns, with(minimal("web"), annotation(published+"exclusive-topology", "rack"))); err != nil {
		t.Fatal(err)
	}
	_, err := runKubectl("", "-n", ns, "annotate", "lws/web", steering+"paused=yes")
	if err == nil {
		t.Error("annotate: paused=yes was accepted")
	}
	kubectl(t, "", "-n", ns, "annotate", "lws/web", steering+"paused=true")
	kubectl(t, "", "-n", ns, "annotate", "lws/web", steering+"paused-")
	refused(t, "gang scheduling beside exclusive-topology",
		patchSet(t.Context(), ns, "web", `spec: {scheduling: {}}`, ""), "exclusive-topology cannot be used with gang scheduling")
	if err := patchSet(t.Context(), ns, "web", `spec: {replicas: 3}`, "scale"); err != nil {
		t.Errorf("scale: %v", err)
	}
}
