package kubectl

import (
	"fmt"

	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
	"lws-controller/revision"
)

func (o *options) undoCommand() *cobra.Command {
	var to int64
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Go back to an earlier revision",
		Long: `undo puts the template and the network configuration of an earlier revision into
the spec: of the one before the present one, or of the one named. It takes
effect as an update does. Where the spec is kept in Git, undo it there too, or
it will be applied again.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			byName := cmd.Flags().Changed("to-revision")
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(c *clients, set *v1.LeaderWorkerSet) (*change, error) {
				history, err := c.history(cmd.Context(), set)
				if err != nil {
					return nil, err
				}
				now, _ := present(history, set)
				wish := rollout.UndoPrevious
				if byName {
					if _, err := c.revision(history, args[0], to); err != nil {
						return nil, err
					}
					wish = itoa(to)
				}
				steering, _ := rollout.ReadSteering(set.Annotations)
				target, why := history.Undo(set, wish, now, steering.RestartedAt)
				if why != "" {
					return nil, fmt.Errorf("%s cannot go back: %s", c.title(args[0]), why)
				}
				ch := &change{annotation: v1.AnnotationUndo, value: &wish, pinned: true,
					did: fmt.Sprintf("to go back to revision %d (%s)", target.Number, target.Key), next: followRollout,
					cannotUndo: "apply the spec again"}
				if r := history.ByKey(now); r != nil {
					ch.cannotUndo, ch.back = "", []string{"undo", "--to-revision", itoa(r.Number)}
				}
				return ch, nil
			})
		},
	}
	cmd.Flags().Int64Var(&to, "to-revision", 0, "`number` of the revision to go back to, as in history; without it the one before the present one")
	complete(cmd, "to-revision", o.completeRevisions)
	return cmd
}

// before is the latest revision that has not this key, nil if there is none.
func before(history *revision.History, key string) *revision.Revision {
	revisions := history.Revisions()
	for i := len(revisions) - 1; i >= 0; i-- {
		if revisions[i].Key != key {
			return revisions[i]
		}
	}
	return nil
}

// revision finds a revision by its number.
func (c *clients) revision(history *revision.History, name string, number int64) (*revision.Revision, error) {
	if r := byNumber(history, number); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%s has no revision %d; there are: %s", c.title(name), number, stored(history))
}
