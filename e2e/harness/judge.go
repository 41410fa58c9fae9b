package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lws-controller/e2e/audit"
)

// judgeTimeout bounds the reading of a whole history.
const judgeTimeout = 2 * time.Minute

// judge has the invariant checker look at every write that the API server of the
// cluster committed.
func (e *Env) judge() (*audit.Verdict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), judgeTimeout)
	defer cancel()
	record, err := audit.Read(ctx, e.Cluster, "")
	if err != nil {
		return nil, err
	}
	verdict := record.Judge(e.LosesAnswers, e.Unrecorded...)
	if err := verdict.Err(); err != nil {
		e.Cluster.KeepDir()
		path, saveErr := record.Save(e.Cluster.Dir())
		return verdict, fmt.Errorf("%w\nrecord: %s, and the audit log beside it %v", err, path, saveErr)
	}
	return verdict, nil
}

// Verdict judges a namespace up to now, and fails the test if something is broken.
func (e *Env) Verdict(t testing.TB, namespace string) *audit.Verdict {
	t.Helper()
	record, err := audit.Read(t.Context(), e.Cluster, namespace)
	if err != nil {
		t.Fatal(err)
	}
	verdict := record.Judge(e.LosesAnswers, e.Unrecorded...)
	if err := verdict.Err(); err != nil {
		t.Fatal(err)
	}
	return verdict
}

// AtRest fails the test unless a namespace is as the invariants say of one in which
// nothing happens any more.
func (e *Env) AtRest(t testing.TB, namespace string) {
	t.Helper()
	WaitFor(t, "namespace "+namespace+" to be at rest", atRestTimeout, func() (bool, string) {
		err := e.Verdict(t, namespace).AtRest(namespace)
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// atRestTimeout is ample for the last status, which is written half a second late.
const atRestTimeout = 10 * time.Second

// judgeAfter judges the cluster of a test when the test ends.
func (e *Env) judgeAfter(t testing.TB) {
	t.Cleanup(func() {
		verdict, err := e.judge()
		if err != nil {
			t.Errorf("invariants: %v", err)
		}
		if verdict != nil {
			t.Logf("invariants: %s", verdict)
		}
	})
}
