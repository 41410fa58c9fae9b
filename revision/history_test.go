package revision

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

func spec(image string) string { return strings.Replace(simple, "a:1", image, 1) }

func history(t *testing.T, objects ...*appsv1.ControllerRevision) *History {
	t.Helper()
	h, unreadable := NewHistory(objects)
	if len(unreadable) > 0 {
		t.Fatal(unreadable)
	}
	return h
}

func TestNew(t *testing.T) {
	s := set(t, simple)
	h := history(t)
	if h.Find(FromSet(s)) != nil || h.NextNumber() != 1 {
		t.Fatal("an empty history has something")
	}
	r, err := h.New(s, FromSet(s), time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	o := r.Object
	if o.Name != "vllm-"+r.Key+"-1" || o.Namespace != "ai" || o.Revision != 1 || r.Number != 1 || r.Key != Key(o.Data.Raw) {
		t.Errorf("%+v", r)
	}
	if want := map[string]string{v1.LabelName: "vllm", v1.LabelRevision: r.Key}; !reflect.DeepEqual(o.Labels, want) {
		t.Errorf("labels %v, want %v", o.Labels, want)
	}
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.UID != s.UID || owner.Kind != "LeaderWorkerSet" || owner.APIVersion != "leaderworkerset.x-k8s.io/v1" {
		t.Errorf("owner %v", owner)
	}
	if again, _ := h.New(s, FromSet(s), time.Time{}, ""); !reflect.DeepEqual(again.Object, o) {
		t.Error("a second try differs")
	}
	if found := history(t, o).Find(FromSet(s)); found == nil || found.Key != r.Key {
		t.Errorf("not found again: %v", found)
	}
}

// Back and forth: A 1, B 2, then A again is the same A, to be numbered 3.
func TestRevert(t *testing.T) {
	a, b := stored(t, "a", "keya", 1, spec("a:1")), stored(t, "b", "keyb", 2, spec("a:2"))
	h := history(t, b, a)
	found := h.Find(FromSet(set(t, spec("a:1"))))
	if found == nil || found.Key != "keya" || h.IsLatest(found) || h.NextNumber() != 3 {
		t.Fatalf("found %+v, next %d", found, h.NextNumber())
	}
	a.Revision = 3
	h = history(t, b, a)
	found = h.Find(FromSet(set(t, spec("a:1"))))
	if found == nil || found.Key != "keya" || !h.IsLatest(found) {
		t.Fatalf("found %+v", found)
	}
}

func TestFindPrefersTheLatest(t *testing.T) {
	a, twin := stored(t, "a", "keya", 1, spec("a:1")), stored(t, "twin", "keytwin", 2, spec("a:1"))
	for _, h := range []*History{history(t, a, twin), history(t, twin, a)} {
		if found := h.Find(FromSet(set(t, spec("a:1")))); found.Key != "keytwin" {
			t.Errorf("found %s", found.Key)
		}
	}
	// Equal numbers: the same answer whatever the order of the list, and none is
	// the latest.
	twin.Revision = 1
	for _, h := range []*History{history(t, a, twin), history(t, twin, a)} {
		if found := h.Find(FromSet(set(t, spec("a:1")))); found.Key != "keytwin" || h.IsLatest(found) {
			t.Errorf("found %s, latest: %v", found.Key, h.IsLatest(found))
		}
	}
}

// The key of an existing revision is its label, whatever its data hashes to.
func TestKeyIsTheLabel(t *testing.T) {
	h := history(t, stored(t, "x", "anything", 4, simple))
	if found := h.Find(FromSet(set(t, simple))); found == nil || found.Key != "anything" {
		t.Errorf("found %+v", found)
	}
	if h.ByKey("anything") == nil || h.ByKey("nothing") != nil {
		t.Error("ByKey")
	}
}

func TestCollision(t *testing.T) {
	s := set(t, simple)
	data, err := Data(FromSet(s))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*appsv1.ControllerRevision
	for i, suffix := range []string{"", "-1", "-2"} {
		taken := Key([]byte(string(data) + suffix))
		// One that cannot be read keeps its key just as well.
		object := stored(t, "other-"+strconv.Itoa(i), taken, int64(i+1), spec("b:"+strconv.Itoa(i)))
		if i == 1 {
			object.Data.Raw = []byte(`{"spec":{"leaderWorkerTemplate":{"size":"x"}}}`)
		}
		objects = append(objects, object)
	}
	for n := range len(objects) + 1 {
		h, _ := NewHistory(objects[:n])
		r, err := h.New(s, FromSet(s), time.Time{}, "")
		if err != nil {
			t.Fatal(err)
		}
		want := Key(data)
		if n > 0 {
			want = Key([]byte(string(data) + "-" + strconv.Itoa(n)))
		}
		if r.Key != want || r.Number != int64(n+1) || r.Object.Name != "vllm-"+want+"-"+strconv.Itoa(n+1) {
			t.Errorf("%d taken: %s number %d, want %s", n, r.Object.Name, r.Number, want)
		}
	}
}

func TestHistoryLeavesOut(t *testing.T) {
	foreign := stored(t, "sts", "keyf", 9, simple)
	foreign.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace"}}}`)
	broken := stored(t, "broken", "keyb", 7, simple)
	broken.Data.Raw = []byte(`{"spec":{"leaderWorkerTemplate":{"size":"x"}}}`)
	unlabelled := stored(t, "unlabelled", "", 3, simple)
	delete(unlabelled.Labels, v1.LabelRevision)

	h, unreadable := NewHistory([]*appsv1.ControllerRevision{foreign, broken, unlabelled})
	if len(h.Revisions()) != 0 || len(unreadable) != 2 {
		t.Fatalf("%d revisions, errors %v", len(h.Revisions()), unreadable)
	}
	for i, name := range []string{"ai/broken", "ai/unlabelled"} {
		if !strings.Contains(unreadable[i].Error(), name) {
			t.Errorf("%v does not name %s", unreadable[i], name)
		}
	}
	if h.NextNumber() != 8 {
		t.Errorf("next number %d, want 8: the StatefulSet's does not count, the unreadable one does", h.NextNumber())
	}
}

// What is in use stays, of the rest the latest; the order is that of the numbers, not
// of the names or of the list.
func TestSurplus(t *testing.T) {
	var objects []*appsv1.ControllerRevision
	for i, number := range []int64{5, 1, 4, 2, 3} {
		objects = append(objects, stored(t, "r"+strconv.Itoa(i), "key"+strconv.FormatInt(number, 10), number, spec("a:"+strconv.Itoa(i))))
	}
	for _, c := range []struct {
		limit int
		inUse string
		want  string
	}{
		{10, "", ""},
		{5, "", ""},
		{4, "", "key1"},
		{2, "", "key1 key2 key3"},
		{0, "", "key1 key2 key3 key4 key5"},
		{0, "key1 key5", "key2 key3 key4"},
		{1, "key1 key5", "key2 key3"},
		{3, "key1 key5", ""},
		{1, "key3 gone", "key1 key2 key4"},
	} {
		inUse := map[string]bool{}
		for _, key := range strings.Fields(c.inUse) {
			inUse[key] = true
		}
		var got []string
		for _, r := range history(t, objects...).Surplus(c.limit, inUse) {
			got = append(got, r.Key)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("limit %d, in use %q: %v go, want %q", c.limit, c.inUse, got, c.want)
		}
	}
}

// A revision whose object somebody deleted comes back under the key that it had,
// unless that is taken.
func TestLostKey(t *testing.T) {
	s := set(t, simple)
	own, _ := history(t).New(s, FromSet(s), time.Time{}, "")
	for _, c := range []struct {
		name, lost, taken, want string
	}{
		{"of another serialisation", "theirs", "", "theirs"},
		{"of this one", own.Key, "", own.Key},
		{"none is known", "", "", own.Key},
		{"taken by other content", "theirs", "theirs", own.Key},
	} {
		h := history(t)
		if c.taken != "" {
			h = history(t, stored(t, "x", c.taken, 1, spec("b:1")))
		}
		if r, err := h.New(s, FromSet(s), time.Time{}, c.lost); err != nil || r.Key != c.want {
			t.Errorf("%s: key %s (%v), want %s", c.name, r.Key, err, c.want)
		}
	}
}
