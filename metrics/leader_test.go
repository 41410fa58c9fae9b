package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// memoryLock is a lease that one elector uses.
type memoryLock struct {
	record *resourcelock.LeaderElectionRecord
	refuse atomic.Bool // the next update
}

func (l *memoryLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lease")
	}
	raw, err := json.Marshal(l.record)
	return l.record, raw, err
}

func (l *memoryLock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.record = &r
	return nil
}

func (l *memoryLock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.refuse.CompareAndSwap(true, false) {
		return errors.New("conflict")
	}
	l.record = &r
	return nil
}

func (l *memoryLock) RecordEvent(string) {}
func (l *memoryLock) Identity() string   { return "me" }
func (l *memoryLock) Describe() string   { return "lease" }

func TestLeader(t *testing.T) {
	reg := start(t)
	synctest.Test(t, func(t *testing.T) {
		lock := &memoryLock{}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Name: "lws", Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
		if err != nil {
			t.Fatal(err)
		}
		at := func(step string) string {
			synctest.Wait()
			return "# " + step + "\n" + series(t, reg, "leader_election_", true)
		}

		got := at("standing by")
		ctx, stop := context.WithCancel(t.Context())
		go elector.Run(ctx)
		got += at("leading")
		lock.refuse.Store(true)
		time.Sleep(5 * time.Second)
		got += at("a renewal was refused and went the slow way")
		stop()
		got += at("shut down: client-go leaves the status as it was")
		golden(t, "leader", got)
		lint(t, reg)
	})
}
