package revision

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "lws-controller/api/v1"
)

// Data and keys are stored in clusters and stand on pods: a diff in a golden file
// that is not the addition of a case rolls everybody's groups.
var update = flag.Bool("update", false, "rewrite the golden files")

// set makes a set of the JSON of its spec.
func set(t testing.TB, spec string) *v1.LeaderWorkerSet {
	t.Helper()
	s := &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Name: "vllm", Namespace: "ai", UID: "uid-1"}}
	if err := json.Unmarshal([]byte(spec), &s.Spec); err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	return s
}

const simple = `{"replicas":3,"leaderWorkerTemplate":{"size":2,"restartPolicy":"None",
	"workerTemplate":{"spec":{"containers":[{"name":"main","image":"a:1"}]}}}}`

func TestDataGolden(t *testing.T) {
	specs, err := filepath.Glob("testdata/*.spec.json")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, path := range specs {
		spec, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := Data(FromSet(set(t, string(spec))))
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(path, ".spec.json") + ".data.golden"
		got := []byte(Key(data) + "\n" + string(data) + "\n")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", golden, got, want)
		}
		back, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if again, err := Data(back); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: parsed and written again it is %s, %v", path, again, err)
		}
	}
}

// FNV-32 of the empty input is its offset basis, 2166136261; of "a", the basis
// times the prime 16777619, xor 'a': 84696446. SafeEncodeString takes each
// character's code modulo 27 into the alphabet bcdfghjklmnpqrstvwxz2456789.
func TestKey(t *testing.T) {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	for data, decimal := range map[string]string{"": "2166136261", "a": "84696446"} {
		var want []byte
		for _, c := range decimal {
			want = append(want, alphabet[int(c)%len(alphabet)])
		}
		if got := Key([]byte(data)); got != string(want) {
			t.Errorf("Key(%q) = %s, want %s", data, got, want)
		}
	}
}

func TestFromSet(t *testing.T) {
	s := set(t, simple)
	before := s.DeepCopy()
	c := FromSet(s)
	if *c.Network.SubdomainPolicy != v1.SubdomainShared {
		t.Errorf("subdomain policy %v", *c.Network.SubdomainPolicy)
	}
	c.Template.WorkerTemplate.Spec.Containers[0].Image = "changed"
	*c.Template.Size = 9
	Equal(c, FromSet(s))
	if !reflect.DeepEqual(s, before) {
		t.Error("the set was changed")
	}
}

func TestParse(t *testing.T) {
	const notHistory, unreadable = "not history", "unreadable"
	for _, test := range []struct{ data, want string }{
		{`{"spec":{"leaderWorkerTemplate":{"workerTemplate":{}}}}`, ""},
		{`{"spec":{"leaderWorkerTemplate":{"workerTemplate":{},"fromTheFuture":{"a":[1]},"size":3},"networkConfig":null,"more":1}}`, ""},
		{`{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"metadata":{"creationTimestamp":null}}}}}`, ""},
		{` { "spec" : { "leaderWorkerTemplate" : { } } } `, ""},
		{`{"spec":{"template":{"$patch":"replace"}}}`, notHistory}, // a StatefulSet's
		{`{"spec":{"leaderWorkerTemplate":null}}`, notHistory},
		{`{"spec":{"leaderWorkerTemplate":"x"}}`, notHistory},
		{`{"spec":{"LeaderWorkerTemplate":{}}}`, notHistory},
		{`{"spec":[]}`, notHistory},
		{`{}`, notHistory},
		{`null`, notHistory},
		{``, notHistory},
		{`[1]`, notHistory},
		{`{"spec":{"leaderWorkerTemplate":{"size":"three"}}}`, unreadable},
		{`{"spec":{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"containers":{}}}}}}`, unreadable},
	} {
		c, err := Parse([]byte(test.data))
		got := ""
		switch {
		case errors.Is(err, ErrNotHistory):
			got = notHistory
		case err != nil:
			got = unreadable
		case c.Network.SubdomainPolicy == nil || *c.Network.SubdomainPolicy != v1.SubdomainShared:
			t.Errorf("%s: network %v", test.data, c.Network)
		}
		if got != test.want {
			t.Errorf("%s: %q (%v), want %q", test.data, got, err, test.want)
		}
	}
}

// Whatever is stored, reading it does not crash; what was read equals itself,
// and equals what is written of it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"spec":{"leaderWorkerTemplate":{"size":2,"workerTemplate":{"spec":{"containers":[{"name":"a"}]}}}}}`))
	f.Add([]byte(`{"spec":{"leaderWorkerTemplate":{"subGroupPolicy":{},"volumeClaimTemplates":[{}]},"networkConfig":{"subdomainPolicy":"UniquePerReplica"}}}`))
	f.Add([]byte(`{"spec":{"template":{}}}`))
	for _, published := range []string{
		`{"spec":{"leaderWorkerTemplate":{"$patch":"replace","restartPolicy":"RecreateGroupOnPodRestart","size":4,"workerTemplate":{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}},"networkConfig":{"$patch":"replace","subdomainPolicy":"Shared"}}}`,
		`{"spec":{"leaderWorkerTemplate":{"$patch":"replace","leaderTemplate":{"metadata":{"creationTimestamp":null,"labels":{"role":"leader"}},"spec":{"containers":[{"name":"main","resources":{"limits":{"google.com/tpu":"4"}},"ports":[{"containerPort":8080,"protocol":"TCP"}]}]}},"restartPolicy":"Default","size":5,"subGroupPolicy":{"subGroupPolicyType":"LeaderExcluded","subGroupSize":2},"workerTemplate":{"metadata":{"creationTimestamp":null},"spec":{"containers":null}}},"networkConfig":{"$patch":"replace","subdomainPolicy":"UniquePerReplica"}}}`,
		`{"spec":{"leaderWorkerTemplate":{"$patch":"replace","size":2,"workerTemplate":{"metadata":{"creationTimestamp":null},"spec":{"containers":[]}}}}}`,
		`{"spec":{"leaderWorkerTemplate":{"size":-1,"volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{"resources":{"requests":{"storage":"1e3"}}},"status":{}}]},"networkConfig":null}}`,
	} {
		f.Add([]byte(published))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Parse(raw)
		if err != nil {
			return
		}
		if !Equal(c, c) {
			t.Fatal("differs from itself")
		}
		data, err := Data(c)
		if err != nil {
			t.Skip(err)
		}
		back, err := Parse(data)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if !Equal(c, back) || !Equal(back, c) {
			t.Fatalf("differs once written as %s", data)
		}
	})
}

// stored makes the ControllerRevision of a spec.
func stored(t testing.TB, name, key string, number int64, spec string) *appsv1.ControllerRevision {
	t.Helper()
	data, err := Data(FromSet(set(t, spec)))
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ai",
			Labels: map[string]string{v1.LabelName: "vllm", v1.LabelRevision: key}},
		Data:     runtime.RawExtension{Raw: data},
		Revision: number,
	}
}
