package kubectl

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
)

func (o *options) partitionCommand() *cobra.Command {
	var clear bool
	cmd := &cobra.Command{
		Use:   "partition NAME N|N%|--clear",
		Short: "Keep the groups below an index at their revision",
		Long: `partition has the groups with an index below N keep their revision, whatever the
spec's partition says. A percentage is of the groups, rounded up. With --clear
the spec's partition holds again.`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case clear && len(args) != 1:
				return fmt.Errorf("with --clear only the name of a LeaderWorkerSet is needed, as in: %s NAME --clear", cmd.CommandPath())
			case !clear && len(args) != 2:
				return fmt.Errorf("the name of a LeaderWorkerSet and a number of groups are needed, as in: %s NAME 2", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(_ *clients, set *v1.LeaderWorkerSet) (*change, error) {
				old, had := set.Annotations[v1.AnnotationPartition]
				ch := &change{annotation: v1.AnnotationPartition, next: followRollout}
				if had {
					ch.back = []string{"partition", old}
				}
				if clear {
					ch.did = "the partition is that of the spec again"
					if !had {
						ch.idle = "has no partition but that of the spec"
					}
					return ch, nil
				}
				if old == args[1] {
					ch.idle = "has the partition " + old + " already"
				}
				if ch.value = &args[1]; args[1] == "" {
					return nil, errors.New("the number of groups is empty")
				}
				ch.did = "the partition is " + args[1]
				if !had {
					ch.back = []string{"partition", "--clear"}
				}
				return ch, nil
			})
		},
	}
	cmd.Flags().BoolVar(&clear, "clear", false, "have the spec's partition hold again")
	return cmd
}
