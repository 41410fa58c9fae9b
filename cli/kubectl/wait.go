package kubectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
)

const (
	forRollout = "rollout"
	forReady   = "ready"
)

func (o *options) waitCommand() *cobra.Command {
	var what string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a rollout is over or all groups are Ready, for pipelines",
		Long: `wait returns when it has come about:

  --for=rollout  the controller has taken up the newest spec and annotations, every
                 group that is to be updated has the update revision and is Ready
                 (for min-ready), no surge group is left, and groups whose recreation
                 is due are recreated
  --for=ready    every group that is wanted is Ready, at whatever revision

Exit status:

  0    it has come about
  1    it will not by itself: the set is Stalled or Degraded, or gone; or an error
  124  it has not within --timeout`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if what != forRollout && what != forReady {
				return fmt.Errorf("--for must be %s or %s, not %q", forRollout, forReady, what)
			}
			if timeout < 0 {
				return fmt.Errorf("--timeout must not be negative, but is %s", timeout)
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			return o.wait(cmd, c, args[0], what, timeout)
		},
	}
	cmd.Flags().StringVar(&what, "for", forRollout, "`what` to wait for: rollout or ready")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait at most; 0: for ever")
	complete(cmd, "for", cobra.FixedCompletions([]string{forRollout, forReady}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *options) wait(cmd *cobra.Command, c *clients, name, what string, timeout time.Duration) error {
	ctx := cmd.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	said, last := "", "no answer from the cluster"
	err := c.follow(ctx, name, func(n news) (bool, error) {
		s := newStatus(n.seen)
		lacks := s.lacks(what, o.now())
		if lacks == "" {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", c.title(name), map[string]string{
				forRollout: "the rollout is over", forReady: "all groups are Ready"}[what])
			return true, err
		}
		if failed := s.failed(n.seen.set.Generation); failed != "" {
			return false, fmt.Errorf("%s: %s", c.title(name), failed)
		}
		last = cmp.Or(troubleLine(n.trouble), lacks)
		if last == said {
			return false, nil
		}
		said = last
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s waits: %s\n", c.title(name), last)
		return false, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return exitError{fmt.Errorf("%s: not within %s: %s", c.title(name), timeout, last), exitTimeout}
	}
	return err
}

// lacks says what is still to happen, empty if nothing is.
func (s *Status) lacks(what string, now time.Time) string {
	if !s.Observed {
		return "the controller has not taken up the newest change yet"
	}
	if what == forReady {
		if s.ReadyGroups < s.Replicas {
			return fmt.Sprintf("%d of %s Ready", s.ReadyGroups, plural(s.Replicas, "group"))
		}
		return ""
	}
	var updated, due, surge int32
	for i := range s.Groups {
		g := &s.Groups[i]
		switch {
		case g.Surge:
			surge++
		case g.Index < s.Partition:
		default:
			due++
			if g.Revision.Key == s.UpdateRevision.Key && g.Phase == group.Ready && g.availableFromKnown && !now.Before(g.availableFrom) {
				updated++
			}
		}
	}
	paused := map[bool]string{true: " (paused)"}[s.Paused]
	switch {
	case updated < due:
		return fmt.Sprintf("%d of %s updated and available%s", updated, plural(due, "group"), paused)
	case surge > 0:
		return fmt.Sprintf("%s above the number wanted to go", plural(surge, "group"))
	case s.Recycle != nil && !now.Before(s.Recycle.At):
		return indices(s.Recycle.Open) + " to be recreated"
	}
	return ""
}

// failed says why what is waited for will not come about by itself, empty if it may.
// A condition of an earlier spec says nothing of this one.
func (s *Status) failed(generation int64) string {
	if !s.Observed {
		return ""
	}
	for _, kind := range []string{v1.ConditionStalled, v1.ConditionDegraded} {
		if c := s.condition(kind); c != nil && c.ObservedGeneration == generation {
			return fmt.Sprintf("%s (%s): %s", kind, c.Reason, oneLine(c.Message))
		}
	}
	for i := range s.Groups {
		if g := &s.Groups[i]; g.Phase == group.Failed {
			return fmt.Sprintf("group %d has failed: %s", g.Index, oneLine(g.WaitingFor))
		}
	}
	return ""
}
