package topology

import (
	"math"
	"reflect"
	"testing"

	v1 "lws-controller/api/v1"
)

func TestNames(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{LeaderName("vllm", 0), "vllm-0"},
		{LeaderName("vllm", 12), "vllm-12"},
		{WorkerName("vllm", 12, 3), "vllm-12-3"},
		{PodName("vllm", 2, 0), "vllm-2"},
		{PodName("vllm", 2, 7), "vllm-2-7"},
		{ServiceName("vllm", 2, v1.SubdomainShared), "vllm"},
		{ServiceName("vllm", 2, ""), "vllm"},
		{ServiceName("vllm", 2, v1.SubdomainUniquePerReplica), "vllm-2"},
		{ClaimName("cache", "vllm-2-7"), "cache-vllm-2-7"},
		// printf 'default/vllm-0' | sha1sum
		{GroupKey("default", "vllm-0"), "3026934fa959105a39223221cf76941a46fb01bb"},
		// printf 'vllm-0/1' | sha1sum
		{SubGroupKey("vllm-0", 1), "62866e51f8a7c12df529b43019ed2214f730383f"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestParsePodName(t *testing.T) {
	for _, test := range []struct {
		set, pod      string
		group, worker int32
		ok            bool
	}{
		{"a", "a-0", 0, 0, true},
		{"a", "a-10-9", 10, 9, true},
		{"a", "a-2147483647-2147483647", math.MaxInt32, math.MaxInt32, true},
		// The names of sets `a` and `a-1` meet; each reads them its own way.
		{"a", "a-1-2", 1, 2, true},
		{"a-1", "a-1-2", 2, 0, true},
		{"a-1", "a-1", 0, 0, false},
		{"a-1", "a-1-2-3", 2, 3, true},
		{"a", "a-1-2-3", 0, 0, false},

		{"a", "a", 0, 0, false},
		{"a", "a-", 0, 0, false},
		{"a", "a--1", 0, 0, false},
		{"a", "a-+1", 0, 0, false},
		{"a", "a-01", 0, 0, false},
		{"a", "a-00", 0, 0, false},
		{"a", "a-1-", 0, 0, false},
		{"a", "a-1-0", 0, 0, false},
		{"a", "a-1-01", 0, 0, false},
		{"a", "a-1-+1", 0, 0, false},
		{"a", "a-1--1", 0, 0, false},
		{"a", "a-1_0", 0, 0, false},
		{"a", "a-0x1", 0, 0, false},
		{"a", "a-١", 0, 0, false},
		{"a", "a-2147483648", 0, 0, false},
		{"a", "a-0-2147483648", 0, 0, false},
		{"a", "b-1", 0, 0, false},
		{"a", "aa-1", 0, 0, false},
		{"", "-1", 0, 0, false},
	} {
		group, worker, ok := ParsePodName(test.set, test.pod)
		if group != test.group || worker != test.worker || ok != test.ok {
			t.Errorf("ParsePodName(%q, %q) = %d, %d, %v, want %d, %d, %v",
				test.set, test.pod, group, worker, ok, test.group, test.worker, test.ok)
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, test := range []struct {
		pod  string
		want []Place
	}{
		{"a-1", []Place{{"a", 1, 0}}},
		{"a-1-2", []Place{{"a-1", 2, 0}, {"a", 1, 2}}},
		{"a-1-2-3", []Place{{"a-1-2", 3, 0}, {"a-1", 2, 3}}},
		{"a-b-2", []Place{{"a-b", 2, 0}}},
		{"a-1-0", []Place{{"a-1", 0, 0}}},
		{"a-01-2", []Place{{"a-01", 2, 0}}},
		{"a-b", nil},
		{"a", nil},
		{"", nil},
		{"-1", nil},
		{"a-1-b", nil},
	} {
		if got := Candidates(test.pod); !reflect.DeepEqual(got, test.want) {
			t.Errorf("Candidates(%q) = %v, want %v", test.pod, got, test.want)
		}
	}
}

// What is parsed is exactly what is named, and the candidates of a name are
// exactly the places that have it.
func FuzzPodName(f *testing.F) {
	f.Add("a", "a-1-2", int32(1), int32(2))
	f.Add("a-1", "a-1-2", int32(2), int32(0))
	f.Add("a", "a-01", int32(0), int32(0))
	f.Fuzz(func(t *testing.T, set, pod string, group, worker int32) {
		if g, w, ok := ParsePodName(set, pod); ok {
			if PodName(set, g, w) != pod || g < 0 || w < 0 {
				t.Errorf("ParsePodName(%q, %q) = %d, %d", set, pod, g, w)
			}
			found := false
			for _, place := range Candidates(pod) {
				found = found || place == Place{Set: set, Group: g, Worker: w}
			}
			if !found {
				t.Errorf("Candidates(%q) lack set %q", pod, set)
			}
		}
		for _, place := range Candidates(pod) {
			if PodName(place.Set, place.Group, place.Worker) != pod || place.Set == "" {
				t.Errorf("Candidates(%q) have %v", pod, place)
			}
		}
		if set == "" || group < 0 || worker < 0 {
			return
		}
		if g, w, ok := ParsePodName(set, PodName(set, group, worker)); !ok || g != group || w != worker {
			t.Errorf("set %q, group %d, worker %d comes back as %d, %d, %v", set, group, worker, g, w, ok)
		}
	})
}
