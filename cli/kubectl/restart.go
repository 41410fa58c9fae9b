package kubectl

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

func (o *options) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "Restart all groups of a set, one after the other, within the budgets of an update",
		Long: `restart has all groups recreated as a rollout of the same spec does: within
maxUnavailable and maxSurge, and held up by a pause and the partition.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(c *clients, set *v1.LeaderWorkerSet) (*change, error) {
				history, err := c.history(cmd.Context(), set)
				if err != nil {
					return nil, err
				}
				now := o.now().UTC().Truncate(time.Second)
				steering, _ := rollout.ReadSteering(set.Annotations)
				last := steering.RestartedAt
				if recorded := history.RestartedAt(); recorded.After(last) {
					last = recorded
				}
				if !now.After(last) {
					return nil, fmt.Errorf("%s: a restart at %s is on record, which is not before this machine's time %s: another one would restart nothing",
						c.title(args[0]), last.Format(time.RFC3339), now.Format(time.RFC3339))
				}
				value, did := now.Format(time.RFC3339), "all groups are to be restarted"
				if steering.Paused {
					did += ", once the rollout is no longer paused"
				}
				return &change{annotation: v1.AnnotationRestartedAt, value: &value, pinned: true,
					did:        did,
					cannotUndo: "a restart cannot be taken back; " + c.words(args[0], []string{"pause"}) + " keeps the groups that have not begun",
					next:       followRollout}, nil
			})
		},
	}
}
