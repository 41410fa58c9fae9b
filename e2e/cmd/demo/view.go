package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/controller/group"
)

// Snapshot is what is shown: one set at one moment.
type Snapshot struct {
	Name           string
	Exists         bool
	Replicas, Size int32
	// Pods that carry the set's name, terminating ones included.
	Pods       int
	Groups     []Group
	Conditions []metav1.Condition
	// Observed says that the status is of the set's present generation.
	Observed bool
	// Trouble is why the snapshot may be out of date, empty if it is not.
	Trouble string
}

// Group is one group of it.
type Group struct {
	Index       int32
	Phase       group.Phase
	Since       time.Duration
	Ready, Size int32
	Revision    string
	// Nodes of its pods, each once, in order.
	Nodes []string
	// Held is why the group does not get on, empty if it does.
	Held string
}

// Available says that the set is, as of its present generation.
func (s Snapshot) Available() bool {
	return s.Exists && s.Observed && slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type == "Available" && c.Status == metav1.ConditionTrue
	})
}

// headline sums the set up.
func (s Snapshot) headline() string {
	if !s.Exists {
		return fmt.Sprintf("LeaderWorkerSet %s does not exist; pods with its name: %d", s.Name, s.Pods)
	}
	ready := 0
	for _, g := range s.Groups {
		if g.Phase == group.Ready {
			ready++
		}
	}
	return fmt.Sprintf("LeaderWorkerSet %s: %d groups of %d wanted, %d Ready", s.Name, s.Replicas, s.Size, ready)
}

// conditions is the line with the types and statuses of all conditions.
func (s Snapshot) conditions() string {
	words := []string{"conditions:"}
	for _, c := range s.Conditions {
		words = append(words, c.Type+"="+string(c.Status))
	}
	if len(words) == 1 {
		words = append(words, "none yet")
	}
	return strings.Join(words, " ")
}

// notes are lines about what a person should know beyond the phases.
func (s Snapshot) notes() (lines []string) {
	for _, c := range s.Conditions {
		if (c.Type == "Degraded" || c.Type == "Stalled") && c.Status == metav1.ConditionTrue {
			lines = append(lines, fmt.Sprintf("%s (%s): %s", c.Type, c.Reason, oneLine(c.Message)))
		}
	}
	for _, g := range s.Groups {
		if g.Held != "" {
			lines = append(lines, fmt.Sprintf("group %d: %s", g.Index, oneLine(g.Held)))
			break // the others mostly say the same
		}
	}
	if s.Trouble != "" {
		lines = append(lines, "not up to date: "+oneLine(s.Trouble))
	}
	return lines
}

const (
	rowFormat = "%5s  %-15s  %6s  %5s  %-10s  %s"
	// fixedLines are the headline, the table's head and the conditions.
	fixedLines = 3
)

// Frame lays the snapshot out in at most height lines of at most width columns.
// Groups that find no place are counted by phase in one line.
func (s Snapshot) Frame(width, height int, paint Painter) []string {
	notes := s.notes()
	rows := max(1, height-fixedLines-len(notes))
	shown, rest := s.Groups, []Group(nil)
	if len(shown) > rows {
		shown, rest = s.Groups[:rows-1], s.Groups[rows-1:]
	}
	lines := []string{cut(s.headline(), width)}
	if len(s.Groups) > 0 {
		lines = append(lines, cut(fmt.Sprintf(rowFormat, "GROUP", "PHASE", "SINCE", "READY", "REVISION", "NODES"), width))
	}
	for _, g := range shown {
		lines = append(lines, paint(g.Phase, cut(g.row(), width)))
	}
	if len(rest) > 0 {
		lines = append(lines, cut(fmt.Sprintf("%5s  %d more: %s", "...", len(rest), countPhases(rest)), width))
	}
	if s.Exists {
		lines = append(lines, cut(s.conditions(), width))
	}
	for _, n := range notes {
		lines = append(lines, cut(n, width))
	}
	return lines[:min(len(lines), max(1, height))]
}

func (g Group) row() string {
	return fmt.Sprintf(rowFormat, fmt.Sprint(g.Index), g.Phase, short(g.Since),
		fmt.Sprintf("%d/%d", g.Ready, g.Size), cmp.Or(g.Revision, "-"), cmp.Or(strings.Join(g.Nodes, " "), "-"))
}

// countPhases is like "3 Ready, 1 Pending", in the order of a group's life.
func countPhases(groups []Group) string {
	count := map[group.Phase]int{}
	for _, g := range groups {
		count[g.Phase]++
	}
	var parts []string
	for _, p := range group.Phases {
		if count[p] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[p], p))
		}
	}
	return strings.Join(parts, ", ")
}

// Changes tells in lines what is different from an earlier snapshot; time that
// passes is no difference. It is the view for those who cannot redraw.
func (s Snapshot) Changes(earlier Snapshot) (lines []string) {
	before := map[int32]Group{}
	for _, g := range earlier.Groups {
		before[g.Index] = g
	}
	for _, g := range s.Groups {
		old, known := before[g.Index]
		delete(before, g.Index)
		if !known || old.Phase != g.Phase || old.Ready != g.Ready || old.Revision != g.Revision {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("group %d: %s, %d/%d pods Ready, revision %s %s",
				g.Index, g.Phase, g.Ready, g.Size, cmp.Or(g.Revision, "-"), strings.Join(g.Nodes, " ")), " "))
		}
	}
	for _, g := range earlier.Groups {
		if _, gone := before[g.Index]; gone {
			lines = append(lines, fmt.Sprintf("group %d: gone", g.Index))
		}
	}
	if s.headline() != earlier.headline() {
		lines = append(lines, s.headline())
	}
	if s.Exists && s.conditions() != earlier.conditions() {
		lines = append(lines, s.conditions())
	}
	said := earlier.notes()
	for _, n := range s.notes() {
		if !slices.Contains(said, n) {
			lines = append(lines, n)
		}
	}
	return lines
}

// Painter colours a line about a group in the phase given.
type Painter func(group.Phase, string) string

// Plain paints nothing.
func Plain(_ group.Phase, line string) string { return line }

// Colours paints with those that every terminal has.
func Colours(p group.Phase, line string) string {
	const green, yellow, red, magenta = 32, 33, 31, 35
	colour := yellow
	switch p {
	case group.Ready:
		colour = green
	case group.Recycling, group.Gone:
		colour = magenta
	case group.Failed:
		colour = red
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colour, line)
}

// short is like 7s, 3m05s or 2h10m: six columns do.
func short(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
}

// cut shortens a line to so many columns and shows that it did.
func cut(line string, width int) string {
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	const mark = ".."
	return string(r[:max(0, width-len(mark))]) + mark
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
