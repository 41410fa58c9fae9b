// Package replay runs the pure core over a journal file: it folds the recorded
// events again, makes each plan anew, prints what happened and why, and says
// where today's code decides differently from what was recorded. So an incident
// in production becomes something to step through, and a test.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/controller/group"
	"lws-controller/controller/rollout"
	"lws-controller/topology"
)

// Options say what to print.
type Options struct {
	// Set is namespace/name; empty: all.
	Set string
	// Group is the only group to print; -1: all. Plans are printed if they do
	// something to it.
	Group int32
}

// ParseGroup reads namespace/set or namespace/set/group.
func ParseGroup(s string) (Options, error) {
	o := Options{Group: -1}
	if s == "" {
		return o, nil
	}
	parts := strings.Split(s, "/")
	if len(parts) != 2 && len(parts) != 3 || slices.Contains(parts, "") {
		return o, fmt.Errorf("%q is neither namespace/set nor namespace/set/group", s)
	}
	o.Set = parts[0] + "/" + parts[1]
	if len(parts) == 3 {
		index, err := strconv.ParseInt(parts[2], 10, 32)
		if err != nil || index < 0 {
			return o, fmt.Errorf("%q: %q is not the index of a group", s, parts[2])
		}
		o.Group = int32(index)
	}
	return o, nil
}

// Summary is what a replay came to.
type Summary struct {
	Lines, Events, Transitions, Plans int
	// Unreadable are lines that a crash has cut off.
	Unreadable int
	// Shown are the lines printed.
	Shown int
	// Lost are lines that the journal says are missing, Skipped those that tell
	// of a set before it begins: at the start of a file, or after a loss.
	Lost, Skipped int
	// Differences are plans and phases that come out differently today.
	Differences int
}

// maxUnreadable is how many crashes a journal may have seen.
const maxUnreadable = 100

// maxLine is how long a line of a journal may be.
const maxLine = 64 << 20

// Run replays a journal.
func Run(in io.Reader, out io.Writer, o Options) (Summary, error) {
	r := &replayer{Options: o, out: out, sets: map[string]*set{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		r.Lines++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var line controller.Line
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			// A crash cuts the last line off; what comes after it begins anew.
			r.Unreadable++
			fmt.Fprintf(out, "line %d is cut off: %v\n", r.Lines, err)
			if r.Unreadable > maxUnreadable {
				return r.Summary, fmt.Errorf("%d lines are unreadable: is this a journal?", r.Unreadable)
			}
			continue
		}
		if line.Version != controller.JournalVersion {
			return r.Summary, fmt.Errorf("line %d has version %d; this program reads version %d", r.Lines, line.Version, controller.JournalVersion)
		}
		if err := r.line(&line); err != nil {
			return r.Summary, fmt.Errorf("line %d: %w", r.Lines, err)
		}
	}
	if len(r.sets) == 0 && r.Skipped > 0 && r.Lost == 0 {
		return r.Summary, errors.New("no set has begun: the start of the journal is missing")
	}
	return r.Summary, lines.Err()
}

// set is what is known of one set.
type set struct {
	groups map[int32]*group.State
	// phases are the last recorded ones.
	phases map[int32]group.Phase
}

type replayer struct {
	Options
	Summary
	out  io.Writer
	sets map[string]*set
}

func (r *replayer) line(l *controller.Line) error {
	if l.Lost > 0 {
		r.Lost += l.Lost
		fmt.Fprintf(r.out, "line %d: %d lines were lost, every set begins anew\n", r.Lines, l.Lost)
		clear(r.sets)
		return nil
	}
	if l.Begin {
		r.sets[l.Set] = &set{groups: map[int32]*group.State{}, phases: map[int32]group.Phase{}}
		r.print(l, -1, "begin")
		return nil
	}
	s := r.sets[l.Set]
	if s == nil {
		// It was amid a sync when the file before this one ended, or lines were lost.
		r.Skipped++
		return nil
	}
	switch {
	case l.Event != nil:
		r.Events++
		if l.Event.Pod == nil && (l.Event.Kind == group.PodObserved || l.Event.Kind == group.WriteAccepted) {
			return fmt.Errorf("event %s without a pod", l.Event.Kind)
		}
		if s.groups[l.Group] == nil {
			s.groups[l.Group] = group.NewState(l.Group)
		}
		s.groups[l.Group].Fold(*l.Event, l.At)
		r.print(l, l.Group, l.Event.Describe())
	case l.Transition != nil:
		r.Transitions++
		s.phases[l.Group] = l.Transition.To
		r.print(l, l.Group, fmt.Sprintf("%s → %s: %s", l.Transition.From, l.Transition.To, l.Transition.Cause))
	case l.Plan != nil:
		r.Plans++
		return r.plan(l, s)
	}
	return nil
}

// plan makes the plan anew and compares.
func (r *replayer) plan(l *controller.Line, s *set) error {
	_, name, _ := strings.Cut(l.Set, "/")
	in := l.Plan.In
	in.GroupService = func(index int32) string { return topology.ServiceName(name, index, v1.SubdomainUniquePerReplica) }
	in.PodGroupName = func(index int32, incarnation int64) string { return topology.PodGroupName(name, index, incarnation) }
	in.VolcanoName = func(index int32, revision string) string { return topology.VolcanoName(name, index, revision) }
	sizes := map[string]int32{}
	for key, t := range in.Templates {
		sizes[key] = t.Size
	}
	entries := map[int32]*v1.RecyclingGroup{}
	for i := range in.Recycling {
		entries[in.Recycling[i].Index] = &in.Recycling[i]
	}
	for _, index := range slices.Sorted(maps.Keys(s.groups)) {
		v := s.groups[index].View(l.Plan.UID, sizes)
		in.Groups = append(in.Groups, v)
		phase := group.PhaseOf(&v, index < in.Replicas, entries[index], in.SpentBy(&v) != nil)
		// A group that is gone leaves the journal; wanted again, it starts anew.
		if recorded := s.phases[index]; recorded != "" && recorded != phase && phase != group.Gone && recorded != group.Gone && r.shown(l.Set, index) {
			r.Differences++
			r.print(l, index, fmt.Sprintf("DIFFERENT PHASE: recorded %s, now %s", recorded, phase))
		}
	}
	today := rollout.Make(in)
	was, err := canonical(l.Plan.Plan)
	if err != nil {
		return err
	}
	is, err := canonical(today)
	if err != nil {
		return err
	}
	for _, action := range actions(&l.Plan.Plan) {
		r.print(l, action.group, "plan: "+action.what)
	}
	if !bytes.Equal(was, is) && r.shown(l.Set, -1) {
		r.Differences++
		r.print(l, -1, "DIFFERENT PLAN")
		r.print(l, -1, "  recorded "+string(was))
		r.print(l, -1, "  now      "+string(is))
	}
	return nil
}

// canonical makes plans comparable: as JSON, in which nil and empty are alike.
func canonical(p rollout.Plan) ([]byte, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if list, ok := value.([]any); value == nil || ok && len(list) == 0 {
			delete(fields, name)
		}
	}
	return json.Marshal(fields)
}

type action struct {
	group int32 // -1: of the set
	what  string
}

// actions says what a plan does, group by group.
func actions(p *rollout.Plan) []action {
	var out []action
	for _, r := range p.Started {
		what := fmt.Sprintf("tear down incarnation %d (%s)", r.Entry.Incarnation, r.Entry.Cause)
		if r.Entry.Cause != v1.RecycleScaleDown {
			what += ", build again at " + r.Entry.Revision
		}
		if r.Failure != nil {
			what += ": " + r.Failure.Message
		}
		out = append(out, action{r.Entry.Index, what})
	}
	for _, d := range p.Delete {
		out = append(out, action{d.Index, fmt.Sprintf("delete pod %s (%s)", d.Pod.Name, d.Why)})
	}
	for _, name := range p.DeleteServices {
		out = append(out, action{-1, "delete service " + name})
	}
	for _, s := range p.CreateServices {
		out = append(out, action{-1, "create service " + s.Name})
	}
	for _, c := range p.Create {
		out = append(out, action{c.Index, fmt.Sprintf("create pods %v at %s, incarnation %d", c.Workers, c.Revision, c.Incarnation)})
	}
	for _, m := range p.Mark {
		out = append(out, action{m.Index, fmt.Sprintf("mark GroupReady %t", m.Ready)})
	}
	for _, s := range p.Start {
		out = append(out, action{s.Index, fmt.Sprintf("note the start, %d restarts", s.Restarts)})
	}
	for _, b := range p.Blocked {
		out = append(out, action{b.Index, fmt.Sprintf("wait: %s %s %s", b.Kind, b.Name, b.Why)})
	}
	if !p.WakeAt.IsZero() {
		out = append(out, action{-1, "plan again at " + p.WakeAt.UTC().Format("15:04:05.000")})
	}
	return out
}

// shown says whether what is about a group (-1: about its set) is asked for.
func (r *replayer) shown(set string, index int32) bool {
	return (r.Set == "" || r.Set == set) && (r.Group < 0 || index < 0 || index == r.Group)
}

func (r *replayer) print(l *controller.Line, index int32, what string) {
	if !r.shown(l.Set, index) {
		return
	}
	r.Shown++
	where := l.Set
	if index >= 0 {
		where += "/" + strconv.Itoa(int(index))
	}
	fmt.Fprintf(r.out, "%s %s %s\n", l.At.UTC().Format("15:04:05.000"), where, what)
}

// ErrDifferent says that today's code decides differently.
var ErrDifferent = errors.New("today's code decides differently from what was recorded")
