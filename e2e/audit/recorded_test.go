package audit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// RecordFlag has the tests with a cluster write testdata anew.
var RecordFlag = flag.Bool("record", false, "write testdata from a run on a cluster")

// Shorten leaves of the bodies of an event what is read of them. It says whether the
// event is about something that is judged.
func Shorten(e *auditv1.Event) (bool, error) {
	r, err := newRequest(e)
	if r == nil || err != nil {
		return false, err
	}
	for _, raw := range []*runtime.Unknown{e.RequestObject, e.ResponseObject} {
		b, err := readBody(raw)
		if err != nil {
			return false, err
		}
		if raw == nil {
			continue
		}
		if raw.Raw, err = json.Marshal(b); err != nil {
			return false, err
		}
	}
	return true, nil
}

// recorded reads the record in testdata, of a set of two groups that was created,
// updated, lost a pod and was scaled down, with lines changed.
func recorded(t *testing.T, change func(history, log [][]byte) ([][]byte, [][]byte)) (*Record, error) {
	t.Helper()
	history, log := lines(t, historyFile), lines(t, "audit.log")
	if change != nil {
		history, log = change(history, log)
	}
	return Load(bytes.NewReader(bytes.Join(history, nil)), bytes.NewReader(bytes.Join(log, nil)))
}

func lines(t *testing.T, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

func TestRecordedRun(t *testing.T) {
	r, err := recorded(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := r.Judge(false)
	if err := v.Err(); err != nil {
		t.Error(err)
	}
	if err := v.AtRest("recorded"); err != nil {
		t.Errorf("at rest: %v", err)
	}
	counted := v.Counted("recorded")
	for _, number := range []string{"S1", "S2", "S3", "S4", "S5", "S7", "S8", "S9", "S10a", "S11", "S13", "S15", "S17"} {
		if counted[number] == 0 {
			t.Errorf("%s was never looked at", number)
		}
	}
	if v.Writes < 50 || v.Controllers < 10 || v.Lost > 0 {
		t.Error(v)
	}
	if v.Counted("elsewhere")["S1"] != 0 || v.AtRest("elsewhere") == nil {
		t.Error("there is something in a namespace that does not exist")
	}
}

// TestWhatIsWrongIsSeen changes the record, one line at a time.
func TestWhatIsWrongIsSeen(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(history, log [][]byte) ([][]byte, [][]byte)
		want   string
	}{
		{"a creation is not in the log", dropRequest(`"verb":"create"`, `"resource":"pods"`), "the audit log lacks the request"},
		{"a binding is not in the log", dropRequest(`"subresource":"binding"`), "the audit log lacks the request"},
		{"a status is not in the log", dropRequest(`"subresource":"status"`, `"user":{"username":"kwok"`), "the audit log lacks the request"},
		{"a deletion is not in the log", dropRequest(`"verb":"delete"`, ControllerAgent), "the audit log lacks the request"},
		{"a state is not in the history", dropState(`"phase":"Running"`), "the history lacks a write: answered with version"},
		{"the last state of an object is not in the history", func(history, log [][]byte) ([][]byte, [][]byte) {
			return history[:len(history)-1], log
		}, "the history lacks a write"},
		{"a binding is not in the history", dropState(`"nodeName"`), "the history lacks a write: nothing was stored"},
		{"nothing is the controller's", func(history, log [][]byte) ([][]byte, [][]byte) {
			return history, changed(log, strings.NewReplacer(ControllerAgent, "someone/", controllerAccount, ":someone"))
		}, "nothing was checked"},
		{"a deletion without a UID", editDeletion(func(b map[string]any) { delete(b, "preconditions") }), "S2: *v1.Pod"},
		{"a pod of another incarnation", func(history, log [][]byte) ([][]byte, [][]byte) {
			return changed(history, strings.NewReplacer(`"leaderworkerset.x-k8s.io/incarnation":"2"`, `"leaderworkerset.x-k8s.io/incarnation":"1"`)), log
		}, "S"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := recorded(t, tc.change)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Judge(false).Err(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestLossyRecord: where the server was killed, a missing request is no error, and
// is counted.
func TestLossyRecord(t *testing.T) {
	r, err := recorded(t, dropRequest(`"subresource":"binding"`))
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Judge(true); v.Err() != nil || v.Lost != 1 {
		t.Errorf("%s, error %v; want one lost write", v, v.Err())
	}
}

// dropRequest removes the first line of the log that has all parts.
func dropRequest(parts ...string) func(history, log [][]byte) ([][]byte, [][]byte) {
	return func(history, log [][]byte) ([][]byte, [][]byte) {
		i := lineWith(log, parts...)
		return history, slices.Delete(log, i, i+1)
	}
}

func dropState(parts ...string) func(history, log [][]byte) ([][]byte, [][]byte) {
	return func(history, log [][]byte) ([][]byte, [][]byte) {
		i := lineWith(history, parts...)
		return slices.Delete(history, i, i+1), log
	}
}

func lineWith(log [][]byte, parts ...string) int {
	return slices.IndexFunc(log, func(l []byte) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !bytes.Contains(l, []byte(p)) })
	})
}

// editDeletion changes the body of the controller's first deletion.
func editDeletion(edit func(map[string]any)) func(history, log [][]byte) ([][]byte, [][]byte) {
	return func(history, log [][]byte) ([][]byte, [][]byte) {
		i := lineWith(log, `"verb":"delete"`, ControllerAgent)
		var e auditv1.Event
		options := map[string]any{}
		must(json.Unmarshal(log[i], &e))
		must(json.Unmarshal(e.RequestObject.Raw, &options))
		edit(options)
		data, err := json.Marshal(options)
		must(err)
		e.RequestObject = &runtime.Unknown{Raw: data}
		data, err = json.Marshal(e)
		must(err)
		log[i] = append(data, '\n')
		return history, log
	}
}

func changed(all [][]byte, r *strings.Replacer) [][]byte {
	for i := range all {
		all[i] = []byte(r.Replace(string(all[i])))
	}
	return all
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
