package robust

import (
	"testing"

	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/harness"
)

// With --allow-kueue-unmanaged, a set of Kueue's runs like any other, without a complaint.
func TestAllowKueueUnmanaged(t *testing.T) {
	t.Parallel()
	ns := env.Namespace(t)
	controllerFor(t, ns, "--allow-kueue-unmanaged")
	set := env.WaitAvailable(t, env.Create(t, harness.NewSet(ns, "queued", harness.Size(2), func(s *harness.Set) {
		s.Labels = map[string]string{lwsv1.LabelKueueQueue: "gpus"}
	})))
	for _, e := range env.Events(t, set) {
		if e.Type != "Normal" {
			t.Errorf("event %s: %s", e.Reason, e.Note)
		}
	}
}
