package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/invariant"
)

// counter counts the writes of the controller.
type counter struct {
	nobody
	created, deleted, statuses, refused int
	// statusesThen is how many writes of the status there were when the last pod was
	// created.
	statusesThen int
	// made is when.
	made time.Duration
	now  func() time.Duration
}

func (c *counter) Wrote(ch *invariant.Change) {
	if ch.By != invariant.Controller {
		return
	}
	_, isPod := ch.After.(*corev1.Pod)
	if ch.After == nil {
		_, isPod = ch.Before.(*corev1.Pod)
	}
	switch _, isSet := ch.After.(*v1.LeaderWorkerSet); {
	case isPod && ch.Verb == invariant.Create:
		c.created++
		c.statusesThen, c.made = c.statuses, c.now()
	case isPod && ch.Verb == invariant.Delete:
		c.deleted++
	case isSet && ch.Subresource == "status":
		c.statuses++
	}
}

func (c *counter) Refused(string, error) { c.refused++ }

// TestStorm: a hundred groups of three fail at the same moment. They are put on record
// in one write, and each pod is deleted once and made once, also where one deletion in
// ten is refused; the refusals hold nobody else up.
func TestStorm(t *testing.T) {
	const groups, size = 100, 3
	for name, fault := range map[string]Fault{"none refused": noFault, "one in ten refused with 403": forbidden, "one in ten refused with 429": tooManyRequests} {
		t.Run(name, func(t *testing.T) {
			c := &counter{}
			s := NewScript(c)
			c.now = s.Time
			defer s.End()
			s.Apply(newSet(groups, size))
			s.Settle()
			for _, p := range s.world.server.pods.list() {
				if p.Name[len(p.Name)-2:] == "-1" && p.Labels[v1.LabelWorkerIndex] == "1" {
					goesWrong("restart", p.Name)(s.world)
				}
			}
			*c = counter{now: s.Time}
			if fault != noFault {
				for k := range groups * size / 10 {
					s.Plan(PlannedFault{Fault: fault, What: deletePod, Skip: 9 * (k + 1), Times: 1})
				}
			}
			begun := s.Time()
			s.Settle()
			if len(s.world.broken) > 0 {
				t.Error(s.world.broken)
			}
			if c.deleted != groups*size || c.created != groups*size || c.statusesThen > 2 {
				t.Errorf("%d pods deleted, %d made, %d writes of the status until then; want %d, %[4]d, at most 2", c.deleted, c.created, c.statusesThen, groups*size)
			}
			if fault != noFault && c.refused == 0 {
				t.Error("nothing was refused")
			}
			if took := c.made - begun; took > 5*time.Second {
				t.Errorf("the last pod was made after %s", took)
			}
			t.Logf("%d deleted, %d made within %s, %d refused, %d writes of the status until then, %d in all", c.deleted, c.created, c.made-begun, c.refused, c.statusesThen, c.statuses)
		})
	}
}

// TestCrashLoop: a group one container of which ends whenever it has started is recreated
// at most six times in five minutes, less often from then on, and its neighbour never.
func TestCrashLoop(t *testing.T) {
	c := &counter{}
	s := NewScript(c)
	c.now = s.Time
	defer s.End()
	s.Apply(newSet(2, 2))
	s.Settle()
	s.world.ill = []ailment{{crashLoop, "a-0-1"}}
	var recreations []int
	for range 3 {
		c.created = 0
		s.Pass(5 * time.Minute)
		recreations = append(recreations, c.created/2)
	}
	if len(s.world.broken) > 0 {
		t.Error(s.world.broken)
	}
	if recreations[0] < 3 || recreations[0] > 6 || recreations[1] > 2 || recreations[2] > 1 {
		t.Errorf("recreations in each five minutes: %v", recreations)
	}
	t.Logf("recreations in each five minutes: %v", recreations)
}
