package group

import "time"

// Record is one line of a journal: an event or a transition.
type Record struct {
	At         time.Time   `json:"at"`
	Event      *Event      `json:"event,omitempty"`
	Transition *Transition `json:"transition,omitempty"`
}

// journalSize is how many records of a group are kept.
const journalSize = 32

// Journal keeps the last records of a group.
type Journal struct {
	ring []Record
	next int
}

func (j *Journal) add(r Record) {
	if len(j.ring) < journalSize {
		j.ring = append(j.ring, r)
		return
	}
	j.ring[j.next] = r
	j.next = (j.next + 1) % journalSize
}

// Records returns the kept records, oldest first.
func (j *Journal) Records() []Record {
	out := make([]Record, 0, len(j.ring))
	out = append(out, j.ring[j.next:]...)
	return append(out, j.ring[:j.next]...)
}
