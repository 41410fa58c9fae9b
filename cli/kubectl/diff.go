package kubectl

import (
	"fmt"
	"io"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"lws-controller/revision"
)

func (o *options) diffCommand() *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show what differs between two revisions",
		Long: `diff compares what two revisions record (templates, size, network) and prints a
unified diff of them as YAML. Without --to the second is that of the present spec,
without --from the first is the latest of the others.`,
		Args:              oneSet,
		ValidArgsFunction: o.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			set, err := c.set(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			history, err := c.history(cmd.Context(), set)
			if err != nil {
				return err
			}
			now, _ := present(history, set)
			second := history.ByKey(now)
			if cmd.Flags().Changed("to") {
				if second, err = c.revision(history, args[0], to); err != nil {
					return err
				}
			}
			if second == nil {
				return fmt.Errorf("%s: the present spec has no revision yet", c.title(args[0]))
			}
			first := before(history, second.Key)
			if cmd.Flags().Changed("from") {
				if first, err = c.revision(history, args[0], from); err != nil {
					return err
				}
			}
			if first == nil {
				return fmt.Errorf("%s has no revision but %d", c.title(args[0]), second.Number)
			}
			return writeDiff(cmd.OutOrStdout(), first, second)
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "`number` of the first revision")
	cmd.Flags().Int64Var(&to, "to", 0, "`number` of the second revision")
	complete(cmd, "from", o.completeRevisions)
	complete(cmd, "to", o.completeRevisions)
	return cmd
}

func writeDiff(out io.Writer, from, to *revision.Revision) error {
	var texts [2][]string
	for i, r := range []*revision.Revision{from, to} {
		tree, err := recorded(r)
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(tree)
		if err != nil {
			return err
		}
		texts[i] = difflib.SplitLines(string(text))
	}
	return difflib.WriteUnifiedDiff(out, difflib.UnifiedDiff{A: texts[0], B: texts[1], Context: 3,
		FromFile: Revision{Number: from.Number, Key: from.Key}.String(), ToFile: Revision{Number: to.Number, Key: to.Key}.String()})
}

// recorded is what a revision records, as it is stored: also what this version of the
// program does not know, but not what says nothing (null) or how it is put back.
func recorded(r *revision.Revision) (map[string]any, error) {
	var data struct {
		Spec map[string]any `json:"spec"`
	}
	if err := utiljson.Unmarshal(r.Object.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("revision %d: %w", r.Number, err)
	}
	for _, part := range data.Spec {
		if fields, ok := part.(map[string]any); ok {
			delete(fields, "$patch")
		}
	}
	return withoutNulls(data.Spec).(map[string]any), nil
}

func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
				continue
			}
			value[key] = withoutNulls(field)
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}
