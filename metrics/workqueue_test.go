package metrics

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TestQueue follows two keys through a queue by a fake clock.
func TestQueue(t *testing.T) {
	reg := start(t)
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "sets"})
		at := func(step string) string {
			synctest.Wait()
			return "# " + step + "\n" + series(t, reg, "workqueue_", true)
		}

		got := at("a new queue")
		q.Add("a")
		q.Add("b")
		q.Add("b")
		time.Sleep(3 * time.Second)
		q.Get()
		time.Sleep(4*time.Second + time.Millisecond) // just past an update of the gauges
		got += at("a waited 3 s and is being worked on for 4 s, b waits")
		q.AddRateLimited("a")
		time.Sleep(2 * time.Second)
		q.Done("a")
		time.Sleep(time.Second)
		got += at("a was put off 1 s, is done after 6 s, and is back in the queue behind b")

		q.ShutDown()
		golden(t, "workqueue", got)
		lint(t, reg)
	})
}

// TestQueueWithoutName: such a queue must not show up as one named "".
func TestQueueWithoutName(t *testing.T) {
	reg := start(t)
	q := workqueue.NewTyped[string]()
	q.Add("a")
	q.ShutDown()
	if got := series(t, reg, "workqueue_", true); got != "" {
		t.Errorf("want no series, got\n%s", got)
	}
}
