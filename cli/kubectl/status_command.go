package kubectl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (o *options) statusCommand() *cobra.Command {
	var watch, all bool
	var format string
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the groups of a set: phase, revision, nodes, and why one is not Ready",
		Long: `status shows how many groups are Ready and updated, and each group: its phase and
since when, its revision (number and key), how many of its pods are Ready, its
nodes, and why it is not Ready. Of a set of 20 groups or more only those that
are not Ready are listed; groups above the number wanted have a plus sign.

In a terminal --watch draws anew in place, else it prints a line for each change.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(format); err != nil {
				return err
			}
			if watch && format != "" {
				return errors.New("--watch and --output exclude each other")
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			if watch {
				return o.watch(cmd, c, args[0], all)
			}
			s, err := c.read(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			status := newStatus(s)
			if format != "" {
				return print(cmd.OutOrStdout(), format, status)
			}
			v := view{now: o.now(), all: all}
			if t := terminal(cmd); t != nil {
				v.width, _ = size(t)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(status.render(v), "\n"))
			return err
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show changes as they happen")
	cmd.Flags().BoolVarP(&all, "all", "A", false, "list every group, however many there are")
	outputFlag(cmd, &format)
	return cmd
}
