package kubectl

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/rollout"
)

func (o *options) recycleCommand() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "recycle NAME GROUPS",
		Short: "Recreate some groups once, each at its own revision",
		Long: `recycle has groups recreated, now or when the time has come, within the budgets of
an update and each at its own revision. GROUPS are indices and ranges of them, as
in 3,5-7. A request takes the place of the one before it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("the name of a LeaderWorkerSet and the groups are needed, as in: %s NAME 3,5-7", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			when := at
			if when == "" {
				when = o.now().UTC().Format(time.RFC3339)
			}
			value := args[1] + "@" + when
			return o.steer(cmd.Context(), cmd.OutOrStdout(), args[0], func(c *clients, set *v1.LeaderWorkerSet) (*change, error) {
				ch := &change{annotation: v1.AnnotationRecycle, value: &value, pinned: true,
					did: fmt.Sprintf("groups %s are to be recreated at %s", args[1], when), next: followRollout}
				if err := ch.check(); err != nil {
					return nil, err
				}
				asked, _ := rollout.ReadSteering(map[string]string{v1.AnnotationRecycle: value})
				if asked.Recycle.At.After(o.now()) {
					// Until then there is nothing to wait for.
					ch.next = []string{"status", "--watch"}
				}
				for _, r := range asked.Recycle.Groups {
					if r.Last >= replicas(set) {
						return nil, fmt.Errorf("%s has no group %d: there are %d, counted from 0", c.title(args[0]), r.Last, replicas(set))
					}
				}
				s, err := c.read(cmd.Context(), args[0])
				if err != nil {
					return nil, err
				}
				if s.set.UID != set.UID {
					return nil, errors.New("the set was made anew meanwhile: try again")
				}
				if open := newStatus(s).Recycle; open != nil {
					ch.did += fmt.Sprintf(" (instead of what was not done of an earlier request: %s)", indices(open.Open))
				}
				return ch, nil
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "`time` in RFC 3339 from which on they are recreated, as in 2026-12-01T10:00:00Z; without it: now")
	return cmd
}
