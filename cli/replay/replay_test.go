package replay

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded is the journal of a real run: two groups of two are created, a worker
// is deleted, the template changed, and the set scaled down.
func recorded(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRecordedRunReplaysToTheSame(t *testing.T) {
	var out bytes.Buffer
	sum, err := Run(strings.NewReader(recorded(t)), &out, Options{Group: -1})
	if err != nil || sum.Differences != 0 {
		t.Errorf("err %v, %d differences", err, sum.Differences)
	}
	if sum.Events < 50 || sum.Plans < 10 || sum.Transitions < 10 {
		t.Errorf("too little was read: %+v", sum)
	}
	const golden = "testdata/recorded.golden"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("replay prints (-want +got; rewrite with -update):\n%s", diff)
	}
}

// TestDifferencesAreFound changes the record, as if today's code decided otherwise.
func TestDifferencesAreFound(t *testing.T) {
	for _, tc := range []struct{ name, from, to, want string }{
		{"a plan", `"cause":"Update","revision"`, `"cause":"Recycle","revision"`, "DIFFERENT PLAN"},
		{"a phase", `"to":"Ready"`, `"to":"Pending"`, "DIFFERENT PHASE: recorded Pending, now Ready"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := strings.ReplaceAll(recorded(t), tc.from, tc.to)
			if changed == recorded(t) {
				t.Fatalf("the record has no %s", tc.from)
			}
			var out bytes.Buffer
			sum, err := Run(strings.NewReader(changed), &out, Options{Group: -1})
			if err != nil || sum.Differences == 0 || !strings.Contains(out.String(), tc.want) {
				t.Errorf("err %v, %d differences; want %q in the output", err, sum.Differences, tc.want)
			}
		})
	}
}

func TestOneGroupOnly(t *testing.T) {
	o, err := ParseGroup("default/recorded/1")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Run(strings.NewReader(recorded(t)), &out, o); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "default/recorded/0") || !strings.Contains(out.String(), "default/recorded/1 ") {
		t.Errorf("printed more or less than group 1:\n%s", out.String())
	}
}

func TestBadJournals(t *testing.T) {
	lines := strings.SplitAfter(recorded(t), "\n")
	for _, tc := range []struct{ name, journal, want string }{
		{"another version", strings.Replace(recorded(t), `"v":1`, `"v":2`, 1), "line 1 has version 2"},
		{"the start is missing", strings.Join(lines[1:], ""), "no set has begun"},
		{"not JSON", strings.Repeat("hello\n", 200), "is this a journal?"},
		{"an event without its pod", lines[0] + `{"v":1,"set":"default/recorded","event":{"kind":"PodObserved","worker":0}}`, "without a pod"},
	} {
		if _, err := Run(strings.NewReader(tc.journal), &bytes.Buffer{}, Options{Group: -1}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: err = %v, want %q", tc.name, err, tc.want)
		}
	}
	for _, tc := range []struct {
		name, between string
		lost, skipped int
	}{
		{"a file that begins amid a sync", "", 0, 5},
		{"lines that were lost", `{"v":1,"lost":7}` + "\n" + strings.Join(lines[40:45], ""), 7, 5},
	} {
		journal := recorded(t) + tc.between + recorded(t)
		if tc.lost == 0 {
			journal = strings.Join(lines[40:45], "") + recorded(t)
		}
		sum, err := Run(strings.NewReader(journal), &bytes.Buffer{}, Options{Group: -1})
		if err != nil || sum.Differences != 0 || sum.Lost != tc.lost || sum.Skipped != tc.skipped {
			t.Errorf("%s: err %v, %+v", tc.name, err, sum)
		}
	}
	var out bytes.Buffer
	cut := strings.Join(lines[:40], "") + lines[40][:len(lines[40])/2] + "\n" + recorded(t)
	if sum, err := Run(strings.NewReader(cut), &out, Options{Group: -1}); err != nil || sum.Differences != 0 || !strings.Contains(out.String(), "line 41 is cut off") {
		t.Errorf("a line that a crash cut off, and the next process: err %v, %d differences", err, sum.Differences)
	}
}

func TestParseGroup(t *testing.T) {
	for in, want := range map[string]Options{
		"": {Group: -1}, "ns/set": {Set: "ns/set", Group: -1}, "ns/set/3": {Set: "ns/set", Group: 3},
	} {
		if got, err := ParseGroup(in); err != nil || got != want {
			t.Errorf("ParseGroup(%q) = %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"set", "ns/", "/set", "ns/set/x", "ns/set/-1", "ns/set/3/4", "ns/set/99999999999"} {
		if _, err := ParseGroup(in); err == nil {
			t.Errorf("ParseGroup(%q) is accepted", in)
		}
	}
}

func FuzzRun(f *testing.F) {
	data, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range bytes.SplitAfter(data, []byte("\n"))[:20] {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		begin := []byte(`{"v":1,"set":"default/recorded","begin":true}` + "\n")
		_, _ = Run(bytes.NewReader(append(begin, line...)), &bytes.Buffer{}, Options{Group: -1})
	})
}
