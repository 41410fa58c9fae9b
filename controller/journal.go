package controller

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
)

// JournalVersion is the version of the lines of a journal file. It rises when a
// reader of the older one would misread a newer file.
const JournalVersion = 1

// Line is one line of a journal file. Exactly one of the pointers is set, or
// Begin, or Lost. All that plans depend on is in the lines: `lws-controller replay` folds
// the events again and makes the plans anew.
type Line struct {
	Version int       `json:"v"`
	At      time.Time `json:"at"`
	// Set is namespace/name.
	Set string `json:"set"`
	// Begin: nothing is known of the set before this line.
	Begin bool `json:"begin,omitempty"`
	// Group is the index that an event or a transition is about.
	Group      int32             `json:"group,omitempty"`
	Event      *group.Event      `json:"event,omitempty"`
	Transition *group.Transition `json:"transition,omitempty"`
	Plan       *PlanLine         `json:"plan,omitempty"`
	// Lost is how many lines are missing here, of any set: nothing is known of any
	// set before it begins again.
	Lost int `json:"lost,omitempty"`
}

// PlanLine is a plan with all that it was made from, but the groups: they are
// what the events before it amount to.
type PlanLine struct {
	// UID of the set.
	UID  types.UID     `json:"uid"`
	In   rollout.Input `json:"in"`
	Plan rollout.Plan  `json:"out"`
}

// Journal writes the lines to a file, and keeps one older file beside it. A nil
// Journal writes nothing. Lines are handed to a goroutine that encodes and writes
// them: a sync pays for neither, and a slow disk delays no one. If the goroutine
// falls too far behind, lines are lost; a line of the file says so.
type Journal struct {
	path string
	max  int64

	mu sync.Mutex
	// pending are the lines handed over and not yet taken, lost is how many more
	// there were no room for.
	pending []pendingLine
	lost    int
	// spare is room for the next pending lines.
	spare []pendingLine
	// epoch counts the files and the losses. Sets begin anew after each.
	epoch  int
	closed bool
	err    error
	// handed has an element when there is something to take, or no more to come;
	// done is closed when all is written.
	handed, done chan struct{}

	// Only the goroutine uses these.
	file    *os.File
	out     *bufio.Writer
	written int64
}

// pendingLine is a line, or one that is encoded already.
type pendingLine struct {
	line Line
	data []byte
}

// maxPending is how many lines may wait: what 1000 groups of 8 pods say when they
// all start at once.
const maxPending = 1 << 15

// OpenJournal appends to the file. When it has grown beyond max bytes it becomes
// <path>.1 and a new one is begun.
func OpenJournal(path string, max int64) (*Journal, error) {
	j, err := newJournal(path, max)
	if err == nil {
		go j.run()
	}
	return j, err
}

func newJournal(path string, max int64) (*Journal, error) {
	j := &Journal{path: path, max: max, epoch: 1, handed: make(chan struct{}, 1), done: make(chan struct{})}
	return j, j.open()
}

func (j *Journal) open() error {
	file, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("journal: %w", err)
	}
	j.file, j.out, j.written = file, bufio.NewWriter(file), info.Size()
	if info.Size() > 0 {
		// A crash may have cut off the last line; an empty one is skipped.
		_, err = j.out.WriteString("\n")
	}
	return err
}

// write hands over a line, which must not change any more. The first error ends
// the journal, not the controller; Close returns it.
func (j *Journal) write(l Line) {
	p, err := pendingLine{line: l}, error(nil)
	if l.Plan != nil {
		// What a plan is made of lives on, and changes.
		p.data, err = encode(l)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err != nil:
		j.err = cmp.Or(j.err, fmt.Errorf("journal %s: %w", j.path, err))
	case j.err != nil || j.closed:
	case len(j.pending) >= maxPending:
		j.lost++
	default:
		j.pending = append(j.pending, p)
		j.wake()
	}
}

func encode(l Line) ([]byte, error) {
	l.Version = JournalVersion
	data, err := json.Marshal(l)
	return append(data, '\n'), err
}

func (j *Journal) wake() {
	select {
	case j.handed <- struct{}{}:
	default:
	}
}

// run writes what is handed over until the journal is closed.
func (j *Journal) run() {
	defer close(j.done)
	for range j.handed {
		if !j.writePending() {
			return
		}
	}
}

// writePending writes what waits, and says whether more may come.
func (j *Journal) writePending() bool {
	lines, lost, closed := j.take()
	err := j.append(lines, lost)
	clear(lines)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare = lines[:0]
	if err != nil {
		j.err, j.pending = cmp.Or(j.err, fmt.Errorf("journal %s: %w", j.path, err)), nil
		return false
	}
	return !closed
}

// take takes what waits. What was lost comes after it, and before all that is
// handed over from now on.
func (j *Journal) take() (lines []pendingLine, lost int, closed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines, lost = j.pending, j.lost
	j.pending, j.spare, j.lost = j.spare, nil, 0
	if lost > 0 {
		j.epoch++
	}
	return lines, lost, j.closed
}

// append writes lines, and changes the file when it has become too large.
func (j *Journal) append(lines []pendingLine, lost int) error {
	if lost > 0 {
		lines = append(lines, pendingLine{line: Line{At: time.Now(), Lost: lost}})
	}
	for i := range lines {
		data, err := lines[i].data, error(nil)
		if data == nil {
			data, err = encode(lines[i].line)
		}
		if err != nil {
			return err
		}
		n, err := j.out.Write(data)
		if j.written += int64(n); err != nil {
			return err
		}
	}
	if err := j.out.Flush(); err != nil || j.written <= j.max {
		return err
	}
	return j.rotate()
}

func (j *Journal) rotate() error {
	if err := j.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(j.path, j.path+".1"); err != nil {
		return err
	}
	if err := j.open(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.epoch++
	return nil
}

// now is the number of the present file or loss.
func (j *Journal) now() int {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.epoch
}

// Close writes what was handed over and returns the first error that there was.
// Lines that come later are dropped.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.wake()
	j.mu.Unlock()
	<-j.done
	if err := j.file.Close(); j.err == nil && err != nil {
		j.err = fmt.Errorf("journal: %w", err)
	}
	return j.err
}

// journalBegin has the set begin anew in the journal, if it is new in this file:
// what is known of it is written as if it had just been observed.
func (c *Controller) journalBegin(m *memory, now time.Time) {
	epoch := c.Journal.now()
	if c.Journal == nil || m.journalEpoch == epoch {
		return
	}
	m.journalEpoch = epoch
	c.Journal.write(Line{At: now, Set: m.key.String(), Begin: true})
	for _, t := range m.groups {
		for _, e := range t.state.Snapshot() {
			c.Journal.write(Line{At: now, Set: m.key.String(), Group: t.state.Index, Event: &e})
		}
	}
}

func (c *Controller) journalEvent(m *memory, index int32, e group.Event, now time.Time) {
	if c.Journal != nil {
		c.Journal.write(Line{At: now, Set: m.key.String(), Group: index, Event: &e})
	}
}

func (c *Controller) journalMoves(m *memory, index int32, moves []group.Transition) {
	if c.Journal == nil {
		return
	}
	for i := range moves {
		c.Journal.write(Line{At: moves[i].At, Set: m.key.String(), Group: index, Transition: &moves[i]})
	}
}

func (c *Controller) journalPlan(m *memory, in rollout.Input, plan rollout.Plan) {
	if c.Journal != nil {
		in.Groups = nil
		c.Journal.write(Line{At: in.Now, Set: m.key.String(), Plan: &PlanLine{UID: m.set.UID, In: in, Plan: plan}})
	}
}
