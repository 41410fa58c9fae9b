package controller

import (
	"bufio"
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
// Begin. All that plans depend on is in the lines: `lws-controller replay` folds
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
// Journal writes nothing.
type Journal struct {
	path string
	max  int64

	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer
	written int64
	// epoch counts the files. Sets begin anew in each.
	epoch int
	err   error
}

// OpenJournal appends to the file. When it has grown beyond max bytes it becomes
// <path>.1 and a new one is begun.
func OpenJournal(path string, max int64) (*Journal, error) {
	j := &Journal{path: path, max: max}
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
		_, j.err = j.out.WriteString("\n")
	}
	j.epoch++
	return nil
}

// write appends a line. The first error ends the journal, not the controller;
// Close returns it.
func (j *Journal) write(l Line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	l.Version = JournalVersion
	data, err := json.Marshal(l)
	if err == nil {
		data = append(data, '\n')
		j.written += int64(len(data))
		_, err = j.out.Write(data)
	}
	if err != nil {
		j.err = fmt.Errorf("journal %s: %w", j.path, err)
	}
}

// flush writes what is buffered, and changes the file when it has become too
// large. It returns the number of the present file.
func (j *Journal) flush() int {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.epoch
	}
	if j.err = j.out.Flush(); j.err == nil && j.written > j.max {
		j.err = j.rotate()
	}
	return j.epoch
}

func (j *Journal) rotate() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := os.Rename(j.path, j.path+".1"); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return j.open()
}

// Close writes what is buffered and returns the first error that there was.
func (j *Journal) Close() error {
	j.flush()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.file.Close(); j.err == nil && err != nil {
		j.err = fmt.Errorf("journal: %w", err)
	}
	return j.err
}

// journalBegin has the set begin anew in the journal, if it is new in this file:
// what is known of it is written as if it had just been observed.
func (c *Controller) journalBegin(m *memory, now time.Time) {
	epoch := c.Journal.flush()
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
