package kubectl

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"lws-controller/revision"
	"lws-controller/topology"
)

// Entry is one revision in the history of a set.
type Entry struct {
	Revision
	// Name of the ControllerRevision.
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Update is the revision of the present spec, Current that which all groups had
	// when a rollout last ended.
	Update  bool `json:"update,omitempty"`
	Current bool `json:"current,omitempty"`
	// Groups is how many groups have it.
	Groups int   `json:"groups"`
	Size   int32 `json:"size"`
	// RestartedAt is when a restart of all groups was last asked for.
	RestartedAt time.Time `json:"restartedAt,omitzero"`
	// Images of the containers, each once.
	Images []string `json:"images"`
}

func (o *options) historyCommand() *cobra.Command {
	var number int64
	var format string
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of a set, or show one",
		Long: `history lists the revisions of a set, the latest first. "update" is that of the
present spec, "current" that which all groups had when a rollout last ended.
With --revision it shows what that revision records: template, size, network.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(format); err != nil {
				return err
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("revision") {
				return o.showRevision(cmd, c, args[0], number, format)
			}
			s, err := c.read(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			entries := history(s)
			if format != "" {
				return print(cmd.OutOrStdout(), format, entries)
			}
			return listHistory(cmd.OutOrStdout(), entries, o.now())
		},
	}
	cmd.Flags().Int64Var(&number, "revision", 0, "`number` of a revision to show")
	complete(cmd, "revision", o.completeRevisions)
	outputFlag(cmd, &format)
	return cmd
}

// history lists the revisions, the latest first.
func history(s *seen) []Entry {
	stored, _ := revision.NewHistory(s.revisions)
	update, _ := present(stored, s.set)
	groups := map[string]int{}
	for _, g := range newStatus(s).Groups {
		groups[g.Revision.Key]++
	}
	entries := []Entry{}
	for _, r := range slices.Backward(stored.Revisions()) {
		entries = append(entries, Entry{Revision: Revision{Number: r.Number, Key: r.Key}, Name: r.Object.Name, Created: created(r.Object),
			Update: r.Key == update, Current: r.Key == s.set.Status.CurrentRevision, Groups: groups[r.Key],
			Size: (&topology.Group{Template: &r.Template}).Size(), RestartedAt: r.RestartedAt, Images: images(r)})
	}
	return entries
}

func images(r *revision.Revision) []string {
	out := []string{}
	add := func(image string) {
		if !slices.Contains(out, image) {
			out = append(out, image)
		}
	}
	if leader := r.Template.LeaderTemplate; leader != nil {
		for i := range leader.Spec.Containers {
			add(leader.Spec.Containers[i].Image)
		}
	}
	for i := range r.Template.WorkerTemplate.Spec.Containers {
		add(r.Template.WorkerTemplate.Spec.Containers[i].Image)
	}
	return out
}

func listHistory(out io.Writer, entries []Entry, now time.Time) error {
	const row = "%8s  %-10s  %5s  %6s  %4s  %-14s  %s\n"
	text := fmt.Sprintf(row, "REVISION", "KEY", "AGE", "GROUPS", "SIZE", "STATE", "IMAGES")
	for _, e := range entries {
		var state []string
		if e.Update {
			state = append(state, "update")
		}
		if e.Current {
			state = append(state, "current")
		}
		text += strings.TrimRight(fmt.Sprintf(row, itoa(e.Number), e.Key, duration.HumanDuration(now.Sub(e.Created)), itoa(int64(e.Groups)),
			itoa(int64(e.Size)), strings.Join(state, ","), strings.Join(e.Images, ",")), " ")
	}
	_, err := io.WriteString(out, text)
	return err
}

func (o *options) showRevision(cmd *cobra.Command, c *clients, name string, number int64, format string) error {
	set, err := c.set(cmd.Context(), name)
	if err != nil {
		return err
	}
	history, err := c.history(cmd.Context(), set)
	if err != nil {
		return err
	}
	r, err := c.revision(history, name, number)
	if err != nil {
		return err
	}
	recorded, err := recorded(r)
	if err != nil {
		return err
	}
	if format == "" {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "# %s, %s\n", c.title(name), Revision{Number: r.Number, Key: r.Key}); err != nil {
			return err
		}
	}
	return print(cmd.OutOrStdout(), format, recorded)
}
