package kubectl

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completeTimeout is how long somebody who pressed Tab waits for a cluster.
const completeTimeout = 5 * time.Second

// completeNames completes the name of a set.
func (o *options) completeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c, err := o.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := c.sets.LeaderWorkerSets(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRevisions completes the number of a revision of the set that is named
// already, the latest first.
func (o *options) completeRevisions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c, err := o.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	set, err := c.set(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	history, err := c.history(ctx, set)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	revisions := history.Revisions()
	var numbers []string
	for i := len(revisions) - 1; i >= 0; i-- {
		r := revisions[i]
		numbers = append(numbers, cobra.CompletionWithDesc(itoa(r.Number), "key "+r.Key+", made "+created(r.Object).UTC().Format(time.RFC3339)))
	}
	return numbers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// complete has a flag completed. The only error is that of a flag which is not there.
func complete(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err)
	}
}
