package revision

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	appsv1 "k8s.io/api/apps/v1"
)

// spelling is one spelling of a part of a spec: some mean the same.
type spelling struct{ text, meaning string }

// parts are the parts of a spec, each with spellings.
var parts = []struct {
	in       string
	spelling []spelling
}{
	{"template", []spelling{{``, "on restart"}, {`"restartPolicy":""`, "on restart"}, {`"restartPolicy":"RecreateGroupOnPodRestart"`, "on restart"},
		{`"restartPolicy":"None"`, "none"}, {`"restartPolicy":"Default"`, "none"}, {`"restartPolicy":"RecreateGroupAfterStart"`, "after start"}}},
	{"template", []spelling{{``, "1"}, {`"size":null`, "1"}, {`"size":1`, "1"}, {`"size":4`, "4"}}},
	{"template", []spelling{{``, "no subgroups"}, {`"subGroupPolicy":{"subGroupSize":2}`, "by 2"}, {`"subGroupPolicy":{"subGroupPolicyType":"LeaderWorker","subGroupSize":2}`, "by 2"}}},
	{"spec", []spelling{{``, "shared"}, {`"networkConfig":null`, "shared"}, {`"networkConfig":{}`, "shared"},
		{`"networkConfig":{"subdomainPolicy":"Shared"}`, "shared"}, {`"networkConfig":{"subdomainPolicy":"UniquePerReplica"}`, "own"}}},
	{"metadata", []spelling{{``, ""}, {`"creationTimestamp":null`, ""}, {`"labels":{}`, ""}, {`"labels":{"a":"b"}`, "labelled"}, {`"annotations":null`, ""}}},
	{"pod", []spelling{{``, "always"}, {`"restartPolicy":"Always"`, "always"}, {`"restartPolicy":""`, "always"}}},
	{"pod", []spelling{{``, "30"}, {`"terminationGracePeriodSeconds":30`, "30"}, {`"terminationGracePeriodSeconds":60`, "60"}}},
	{"container", []spelling{{`"image":"a:1"`, "1"}, {`"image":"a:1","imagePullPolicy":"IfNotPresent"`, "1"}, {`"image":"a:2"`, "2"}}},
	{"container", []spelling{{``, ""}, {`"resources":{}`, ""}, {`"resources":{"limits":{"cpu":"1"}}`, "1 cpu"}, {`"resources":{"limits":{"cpu":"1000m"}}`, "1 cpu"}}},
	// What never makes a revision, whatever it says.
	{"spec", []spelling{{``, ""}, {`"replicas":0`, ""}, {`"replicas":9`, ""}}},
	{"spec", []spelling{{``, ""}, {`"startupPolicy":"LeaderReady"`, ""}, {`"startupPolicy":""`, ""}}},
	{"spec", []spelling{{``, ""}, {`"rolloutStrategy":{"type":"RollingUpdate","rollingUpdateConfiguration":{"partition":3,"maxSurge":"10%"}}`, ""}}},
	{"spec", []spelling{{``, ""}, {`"scheduling":{}`, ""}}},
}

// drawSpec draws a spec: for each part a meaning, unless it is given, and a
// spelling of it, in any order of the fields.
func drawSpec(t *rapid.T, meanings []string) (string, []string) {
	fields := map[string][]string{"container": {`"name":"c"`}}
	chosen := make([]string, len(parts))
	for i, part := range parts {
		var fit []spelling
		for _, s := range part.spelling {
			if meanings == nil || s.meaning == meanings[i] {
				fit = append(fit, s)
			}
		}
		s := rapid.SampledFrom(fit).Draw(t, fmt.Sprint("part ", i))
		chosen[i] = s.meaning
		if s.text != "" {
			fields[part.in] = append(fields[part.in], s.text)
		}
	}
	object := func(in string, more ...string) string {
		return "{" + strings.Join(rapid.Permutation(append(fields[in], more...)).Draw(t, "order of "+in), ",") + "}"
	}
	pod := object("pod", `"containers":[`+object("container")+`]`)
	template := object("template", `"workerTemplate":`+`{"metadata":`+object("metadata")+`,"spec":`+pod+`}`)
	return object("spec", `"leaderWorkerTemplate":`+template), chosen
}

// TestSameMeaningSameRevision: two spellings of a spec are one revision exactly
// if they mean the same, also when one of them was stored by another version, which
// writes it in its own way, and read by a process that has just started (S13).
func TestSameMeaningSameRevision(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, meaning := drawSpec(rt, nil)
		first := set(t, a)
		r, err := (&History{}).New(first, FromSet(first), time.Time{}, "")
		if err != nil {
			rt.Fatal(err)
		}
		object := r.Object.DeepCopy()
		if rapid.Bool().Draw(rt, "stored by another version") {
			object.Data.Raw = rewritten(rt, object.Data.Raw)
		}
		h, unreadable := NewHistory([]*appsv1.ControllerRevision{object})
		if len(unreadable) > 0 {
			rt.Fatal(unreadable)
		}
		given := meaning
		if rapid.Bool().Draw(rt, "another meaning, perhaps") {
			given = nil
		}
		b, other := drawSpec(rt, given)
		same := strings.Join(meaning, ",") == strings.Join(other, ",")
		found := h.Find(FromSet(set(t, b)))
		if (found != nil) != same {
			rt.Fatalf("found is %t, the same meaning is %t:\n%s\n%s", found != nil, same, object.Data.Raw, b)
		}
		if found != nil && found.Key != r.Key {
			rt.Fatalf("key %s became %s", r.Key, found.Key)
		}
	})
}

// rewritten is data as another version might have stored it: without the
// directives, with null for times that are not set, and a field that is not known.
func rewritten(t *rapid.T, data []byte) []byte {
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	spec := tree["spec"].(map[string]any)
	template := spec["leaderWorkerTemplate"].(map[string]any)
	if rapid.Bool().Draw(t, "without directives") {
		delete(template, "$patch")
		delete(spec["networkConfig"].(map[string]any), "$patch")
	}
	if metadata, ok := template["workerTemplate"].(map[string]any)["metadata"].(map[string]any); ok && rapid.Bool().Draw(t, "null time") {
		metadata["creationTimestamp"] = nil
	}
	if rapid.Bool().Draw(t, "a field of the future") {
		template["somethingNew"] = map[string]any{"a": 1}
	}
	out, err := json.MarshalIndent(tree, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
