package invariant

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// Checker looks at one write after the other. The zero value is not usable; see
// New.
type Checker struct {
	// Several controllers are at work: what one does is a past that the other may
	// not know. A deletion looks like a failure, which is put on record, and a worker
	// may be made for a leader that is no more, which the other removes as a stray.
	Several bool

	// Unrecorded: the CRD drops, or has dropped, what is put on record, so that what
	// relies on that cannot be judged.
	Unrecorded bool

	truth
	groups map[groupKey]*facts
	disruptions
	// afterLoss is how many writes there were after each loss of a lease.
	afterLoss map[Loss]int
	// counted says how often each invariant was looked at where it could have
	// been broken.
	counted    map[string]int
	violations []Violation
}

// New returns a checker for an empty cluster.
func New() *Checker {
	return &Checker{truth: newTruth(), groups: map[groupKey]*facts{}, afterLoss: map[Loss]int{}, counted: map[string]int{},
		disruptions: disruptions{map[types.UID]int32{}, map[groupKey]bool{}}}
}

// always are the invariants that must hold after every write.
var always = []struct {
	number string
	check  func(*Checker, *Change) string
}{
	{"S1", S1}, {"S2", S2}, {"S3", S3}, {"S4", S4}, {"S5", S5},
	{"S7", S7}, {"S8", S8}, {"S9", S9}, {"S10", S10}, {"S10a", S10a},
	{"S11", S11}, {"S12", S12}, {"S13", S13}, {"S14", S14},
	{"S15", S15}, {"S17", S17}, {"S19", S19}, {"S23", S23}, {"S24", S24},
}

// recorded are those that go by what stands in the status.
var recorded = []string{"S7", "S9", "S10a", "S11", "S12", "S14"}

// Observe takes in one write, committed at a resource version, and returns what
// it broke.
func (c *Checker) Observe(ch *Change, at int64) []Violation {
	before := len(c.violations)
	c.apply(ch, at)
	c.learn(ch)
	for _, inv := range always {
		if c.Unrecorded && slices.Contains(recorded, inv.number) {
			continue
		}
		if message := inv.check(c, ch); message != "" {
			c.violations = append(c.violations, Violation{inv.number, message})
		}
	}
	return c.violations[before:]
}

// Violations are all that was found so far.
func (c *Checker) Violations() []Violation { return c.violations }

// Counted says how often each invariant could have been broken.
func (c *Checker) Counted() map[string]int { return c.counted }

// count notes that an invariant is being looked at in earnest.
func (c *Checker) count(number string) { c.counted[number]++ }

// groupKey names a group by the UID of its set.
type groupKey struct {
	set   types.UID
	index int32
}

func parseVersion(o Object) int64 {
	n, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return n
}
