package kubectl

import (
	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
)

func (o *options) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Resume a paused rollout",
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(_ *clients, set *v1.LeaderWorkerSet) (*change, error) {
				if _, paused := set.Annotations[v1.AnnotationPaused]; !paused {
					return &change{idle: "is not paused"}, nil
				}
				return &change{annotation: v1.AnnotationPaused, did: "resumed", back: []string{"pause"}, next: followRollout}, nil
			})
		},
	}
}

// followRollout is the command that waits for what a change sets off.
var followRollout = []string{"wait", "--for=rollout"}
