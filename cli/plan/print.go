package plan

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the report for people.
func (r *Report) Print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s\n\n", r.Namespace, r.Name)
	b.WriteString("Changes\n")
	if len(r.Changes) == 0 {
		b.WriteString("  none\n")
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	fmt.Fprintf(&b, "  revision %s (%s)\n", r.Revision.Key, strings.ToLower(r.Revision.State))
	fmt.Fprintf(&b, "  groups %d, of which %d may be unavailable; surge %d, partition %d\n", r.Replicas, r.Unavailable, r.Surge, r.Partition)
	b.WriteString("\nSteps\n")
	if len(r.Steps) == 0 {
		b.WriteString("  none: no group is created or taken down\n")
	}
	for i := range r.Steps {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, r.Steps[i].text(r.Replicas))
	}
	fmt.Fprintf(&b, "\nReady groups: %d before, %d at the lowest, %d after; %s recreated", r.Ready.Before, r.Ready.Lowest, r.Ready.After, count(r.Recreated))
	if r.AtLeast.Duration > 0 {
		fmt.Fprintf(&b, "; it takes at least %s", r.AtLeast)
	}
	b.WriteString("\n")
	if len(r.Attention) > 0 {
		b.WriteString("\nAttention\n")
	}
	for _, a := range r.Attention {
		fmt.Fprintf(&b, "  - %s\n", a)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

var verbs = map[string]string{
	ActionUpdate:   "take down %s for the update",
	ActionRecreate: "take down %s as asked for",
	ActionFailed:   "take down failed %s",
	ActionRemove:   "remove %s",
	ActionCreate:   "create %s",
	ActionSurge:    "create surge %s",
}

func (s *Step) text(replicas int32) string {
	what := "stalled: no further group is taken"
	if verb := verbs[s.Action]; verb != "" {
		what = fmt.Sprintf(verb, list(s.Groups))
	}
	if s.Action == ActionCreate || s.Action == ActionSurge {
		what += " at revision " + s.Revision
	}
	what += fmt.Sprintf(" (surge %d), ready %d of %d", s.SurgeGroups, s.Ready, replicas)
	if s.After.Duration > 0 {
		what = fmt.Sprintf("after %s: %s", s.After, what)
	}
	return what
}

func count(n int) string {
	switch n {
	case 0:
		return "no group is"
	case 1:
		return "1 group is"
	}
	return fmt.Sprintf("%d groups are", n)
}

// list writes "group 3", "groups 9, 8" or, where they are many, "groups 9 to 2".
func list(groups []int32) string {
	var parts []string
	for i := 0; i < len(groups); {
		last := i
		for last+1 < len(groups) && groups[last+1]-groups[last] == step(groups, i) {
			last++
		}
		if last-i >= 3 {
			parts = append(parts, fmt.Sprintf("%d to %d", groups[i], groups[last]))
			i = last + 1
			continue
		}
		parts = append(parts, fmt.Sprint(groups[i]))
		i++
	}
	if len(groups) == 1 {
		return "group " + parts[0]
	}
	return "groups " + strings.Join(parts, ", ")
}

// step is the way in which a run of indices that begins at i goes: up or down.
func step(groups []int32, i int) int32 {
	if i+1 < len(groups) && groups[i+1] < groups[i] {
		return -1
	}
	return 1
}
