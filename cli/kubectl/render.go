package kubectl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

// view says how a status is laid out.
type view struct {
	// width in columns; 0: as wide as it takes.
	width int
	now   time.Time
	// all groups are listed, also those that are Ready in a set of many.
	all bool
}

const (
	// manyGroups is from how many groups on only those that are not Ready are listed.
	manyGroups = 20
	// wide is from how many columns on the reason stands beside its group.
	wide     = 120
	barWidth = 30
)

// render lays the status out in lines.
func (s *Status) render(v view) []string {
	lines := v.wrap("", s.headline())
	lines = append(lines, bar("ready", s.ReadyGroups, s.Replicas),
		bar("updated", s.UpdatedGroups, s.Replicas)+" at "+s.UpdateRevision.String())
	lines = append(lines, s.byRevision()...)
	for _, note := range s.notes(v.now) {
		lines = append(lines, v.wrap("  ", note)...)
	}
	return append(lines, s.table(v)...)
}

func (s *Status) headline() string {
	return fmt.Sprintf("%s/%s: %s of %s", s.Namespace, s.Name, plural(s.Replicas, "group"), plural(s.Size, "pod"))
}

func plural(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bar(what string, done, of int32) string {
	filled := barWidth
	if of > 0 {
		filled = int(int64(barWidth) * int64(done) / int64(of))
	}
	return fmt.Sprintf("%-8s [%s%s] %d/%d", what, strings.Repeat("#", filled), strings.Repeat("-", barWidth-filled), done, of)
}

// String is number and key, as in `revision 3 (7c9f8b6d4f)`.
func (r Revision) String() string {
	switch {
	case r.Key == "":
		return "no revision yet"
	case r.Number == 0:
		return "revision " + r.Key
	}
	return fmt.Sprintf("revision %d (%s)", r.Number, r.Key)
}

// byRevision counts the groups of each revision by phase, a line a revision.
func (s *Status) byRevision() (lines []string) {
	counts := map[Revision]map[group.Phase]int{}
	for _, g := range s.Groups {
		if counts[g.Revision] == nil {
			counts[g.Revision] = map[group.Phase]int{}
		}
		counts[g.Revision][g.Phase]++
	}
	revisions := slices.SortedFunc(maps.Keys(counts), func(a, b Revision) int { return int(a.Number - b.Number) })
	for _, r := range revisions {
		var words []string
		for _, phase := range group.Phases {
			if n := counts[r][phase]; n > 0 {
				words = append(words, fmt.Sprintf("%d %s", n, phase))
			}
		}
		name := r.String()
		if r.Key == "" {
			name = "no pods yet"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name, strings.Join(words, ", ")))
	}
	return lines
}

// notes are what a person should know beyond numbers.
func (s *Status) notes(now time.Time) (lines []string) {
	if !s.Observed {
		lines = append(lines, "The controller has not taken up the newest change yet")
	}
	if s.Paused {
		lines = append(lines, "Paused: no further group is updated, see kubectl lws resume")
	}
	if s.Partition > 0 {
		lines = append(lines, fmt.Sprintf("Partition %d: groups with a lower index keep their revision", s.Partition))
	}
	if r := s.Recycle; r != nil {
		lines = append(lines, fmt.Sprintf("Recycle asked for at %s: to do for %s", r.At.Format(time.RFC3339), indices(r.Open)))
	}
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionDegraded} {
		if c := s.condition(kind); c != nil {
			lines = append(lines, fmt.Sprintf("%s for %s (%s): %s", kind, duration.HumanDuration(now.Sub(c.LastTransitionTime.Time)),
				c.Reason, oneLine(c.Message)))
		}
	}
	return lines
}

// indices names groups, as in `groups 1, 4-6`.
func indices(groups []int32) string {
	var parts []string
	for i := 0; i < len(groups); {
		last := i
		for last+1 < len(groups) && groups[last+1] == groups[last]+1 {
			last++
		}
		part := itoa(int64(groups[i]))
		if last > i {
			part += "-" + itoa(int64(groups[last]))
		}
		parts = append(parts, part)
		i = last + 1
	}
	if len(groups) == 1 {
		return "group " + parts[0]
	}
	return "groups " + strings.Join(parts, ", ")
}

const (
	columns = "%5s  %-15s  %5s  %-15s  %7s  %s"
	// nodesAt is where the nodes begin, reasonAt where reasons do on lines of their own.
	nodesAt  = 57
	reasonAt = 7
	// maxNodes is the widest that the nodes get while a reason stands beside them.
	maxNodes = 32
)

// table lists the groups, a line a group, and why one is not Ready.
func (s *Status) table(v view) []string {
	listed := s.Groups
	if !v.all && len(listed) >= manyGroups {
		listed = slices.DeleteFunc(slices.Clone(listed), func(g Group) bool { return g.Phase == group.Ready })
	}
	var lines []string
	if len(listed) > 0 {
		head := fmt.Sprintf(columns, "GROUP", "PHASE", "SINCE", "REVISION", "READY", "NODES")
		if v.beside() {
			head = fmt.Sprintf("%-*s  %s", nodesAt+v.nodesWidth(listed), head, "WAITING FOR")
		}
		lines = append(lines, "", head)
	}
	nodesWidth := v.nodesWidth(listed)
	for i := range listed {
		lines = append(lines, listed[i].row(v, nodesWidth)...)
	}
	if n := len(s.Groups) - len(listed); n > 0 {
		lines = append(lines, "", fmt.Sprintf("%s Ready and not listed: --all lists every group", areGroups(n)))
	}
	return lines
}

func areGroups(n int) string {
	if n == 1 {
		return "1 group is"
	}
	return fmt.Sprintf("%d groups are", n)
}

// beside says that the reason stands beside its group.
func (v view) beside() bool { return v.width == 0 || v.width >= wide }

// nodesWidth is how wide the column of nodes is.
func (v view) nodesWidth(groups []Group) int {
	widest := len("NODES")
	for i := range groups {
		widest = max(widest, len(strings.Join(groups[i].Nodes, ",")))
	}
	switch {
	case v.width == 0:
		return widest
	case v.beside():
		return min(widest, maxNodes)
	}
	return max(len("NODES"), min(widest, v.width-nodesAt))
}

// row is the line of a group, with more lines for a reason that finds no place there.
func (g *Group) row(v view, nodesWidth int) []string {
	since := "-"
	if !g.Since.IsZero() {
		since = duration.HumanDuration(max(0, v.now.Sub(g.Since)))
	}
	ready := "-"
	if g.Size > 0 {
		ready = fmt.Sprintf("%d/%d", g.ReadyPods, g.Size)
	}
	revision := "-"
	if g.Revision.Key != "" {
		revision = strings.TrimSpace(fmt.Sprintf("%s %s", number(g.Revision.Number), g.Revision.Key))
	}
	index := itoa(int64(g.Index))
	if g.Surge {
		index = "+" + index
	}
	line := fmt.Sprintf(columns, index, g.Phase, since, revision, ready, shortened(g.Nodes, nodesWidth))
	reason := oneLine(g.WaitingFor)
	if reason == "" {
		return []string{strings.TrimRight(line, " ")}
	}
	if !v.beside() {
		return append([]string{strings.TrimRight(line, " ")}, v.wrap(strings.Repeat(" ", reasonAt), "waits for "+reason)...)
	}
	line = fmt.Sprintf("%-*s  ", nodesAt+nodesWidth, line)
	lines := v.wrap(strings.Repeat(" ", len(line)), reason)
	lines[0] = line + strings.TrimLeft(lines[0], " ")
	return lines
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return itoa(n)
}

// shortened joins names into at most width columns; of those that find no place it
// says how many they are.
func shortened(names []string, width int) string {
	for shown := len(names); shown > 0; shown-- {
		text := strings.Join(names[:shown], ",")
		if rest := len(names) - shown; rest > 0 {
			text = fmt.Sprintf("%s +%d", text, rest)
		}
		if len(text) <= width {
			return text
		}
	}
	if len(names) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d nodes", len(names))
}

// wrap breaks a text between words into lines that begin with the indent.
func (v view) wrap(indent, text string) []string {
	if v.width == 0 {
		return []string{indent + text}
	}
	var lines []string
	room := max(20, v.width-len(indent))
	line := ""
	for word := range strings.FieldsSeq(text) {
		for len([]rune(word)) > room {
			// A word that no line holds is cut.
			head := string([]rune(word)[:room])
			if line != "" {
				lines = append(lines, indent+line)
				line = ""
			}
			lines = append(lines, indent+head)
			word = word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > room:
			lines = append(lines, indent+line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" || lines == nil {
		lines = append(lines, indent+line)
	}
	return lines
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
