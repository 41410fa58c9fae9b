package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

func newExecution(inFlight int, c clock.Clock) *execution {
	return &execution{Controller: &Controller{Options: Options{InFlight: inFlight, Clock: c}},
		start: c.Now(), wait: &Wait{}, mu: &sync.Mutex{}, failed: map[int32]bool{}, made: map[int32]int{}}
}

func TestEachCallsAllWithinTheLimit(t *testing.T) {
	for _, limit := range []int{1, 2, 8} {
		x := newExecution(limit, clock.RealClock{})
		var running, most, calls atomic.Int32
		err := x.each(&pace{}, 100, func(int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Millisecond / 4)
			running.Add(-1)
			calls.Add(1)
			return nil
		})
		if err != nil || calls.Load() != 100 || most.Load() > int32(limit) {
			t.Errorf("limit %d: err %v, %d calls, %d at a time", limit, err, calls.Load(), most.Load())
		}
	}
}

// TestEachStartsSlowly: where every call fails, one is made, and the first of
// them that fails is the last to be started.
func TestEachStartsSlowly(t *testing.T) {
	for _, limit := range []int{1, 8} {
		x := newExecution(limit, clock.RealClock{})
		var calls atomic.Int32
		err := x.each(&pace{}, 100, func(i int) error { calls.Add(1); return fmt.Errorf("call %d", i) })
		if err == nil || err.Error() != "call 0" || calls.Load() != 1 {
			t.Errorf("limit %d: err %v after %d calls, want that of the only call", limit, err, calls.Load())
		}
	}
	x := newExecution(8, clock.RealClock{})
	var calls atomic.Int32
	err := x.each(&pace{}, 1000, func(i int) error {
		calls.Add(1)
		if i == 20 {
			return errors.New("twentieth")
		}
		time.Sleep(time.Millisecond)
		return nil
	})
	if err == nil || calls.Load() > 20+8+1 {
		t.Errorf("err %v after %d calls; those under way may end, no more may start", err, calls.Load())
	}
}

func TestEachEndsWithTheTimeOfTheSync(t *testing.T) {
	for _, limit := range []int{1, 8} {
		c := testingclock.NewFakeClock(time.Unix(0, 0))
		x := newExecution(limit, c)
		var calls atomic.Int32
		err := x.each(&pace{}, 100, func(int) error {
			if calls.Add(1) == 3 {
				c.Step(syncTime + time.Second)
			}
			return nil
		})
		if err != nil || calls.Load() > int32(3+limit) || !x.wait.Again {
			t.Errorf("limit %d: err %v, %d calls, again %t; the rest belongs to the next sync", limit, err, calls.Load(), x.wait.Again)
		}
	}
}

func TestRefused(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	status := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "post", pods, "p", "", 0, false)
	}
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"invalid", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "p", nil), true},
		{"quota", apierrors.NewForbidden(pods, "p", errors.New("exceeded quota")), true},
		{"failing webhook", apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		{"bad request", apierrors.NewBadRequest("no"), true},
		{"too large", status(http.StatusRequestEntityTooLarge), true},
		{"conflict of quota updates", apierrors.NewConflict(pods, "p", errors.New("changed")), false},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), false},
		{"not authorised, as while certificates rotate", apierrors.NewUnauthorized("who"), false},
		{"unavailable", apierrors.NewServiceUnavailable("later"), false},
		{"server time-out", apierrors.NewTimeoutError("late", 1), false},
		{"no connection", errors.New("connection refused"), false},
		{"time-out here", context.DeadlineExceeded, false},
	} {
		if got := refused(fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
			t.Errorf("%s: refused = %t, want %t", tc.name, got, tc.want)
		}
	}
}

func TestHoldDoubles(t *testing.T) {
	now := time.Unix(0, 0)
	var h hold
	var got []time.Duration
	for range 9 {
		h = h.next("reason", "message", now)
		got = append(got, h.until.Sub(now))
	}
	want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}
	for i := range want {
		if got[i] != want[i]*time.Second {
			t.Fatalf("holds %v, want %v s", got, want)
		}
	}
}

// A group whose Service is in the way waits for that, and no longer for what held
// it up before.
func TestServiceInTheWayIsWhatIsWaitedFor(t *testing.T) {
	x := newExecution(1, clock.RealClock{})
	x.m = newMemory(types.NamespacedName{Namespace: "ns", Name: "s"})
	x.m.held[0] = hold{reason: "FailedCreate", message: "exceeded quota"}
	x.m.heldServices["s-0"] = hold{reason: reasonNameTaken, message: "service s-0 exists"}
	if !x.skip(&rollout.Creation{Index: 0, Service: "s-0"}) {
		t.Error("a group whose Service is in the way gets pods")
	}
	if _, message := x.m.trouble(&v1.LeaderWorkerSetStatus{}, &rollout.Tally{}); message != "Service s-0: service s-0 exists" {
		t.Errorf("the trouble is %q", message)
	}
}
