package kubectl

import (
	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

func (o *options) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Pause the rollout of a set: no further group is updated",
		Long: `pause has no further group taken to the update revision. Groups that fail are still
recreated, and scaling goes on. Groups that are being updated are finished.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(_ *clients, set *v1.LeaderWorkerSet) (*change, error) {
				if steering, _ := rollout.ReadSteering(set.Annotations); steering.Paused {
					return &change{idle: "is paused already"}, nil
				}
				value := "true"
				return &change{annotation: v1.AnnotationPaused, value: &value, did: "paused", back: []string{"resume"}}, nil
			})
		},
	}
}
