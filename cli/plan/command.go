package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"lws-controller/api/client"
)

// command is what the command line says.
type command struct {
	kubeconfig, context, namespace string

	file     string
	annotate []string
	output   string
	options  Options
	agent    string
}

// NewCommand is the command plan. The user agent is that of its requests.
func NewCommand(userAgent string) *cobra.Command {
	c := &command{agent: userAgent}
	cmd := &cobra.Command{
		Use:   "plan (-f FILE | NAME)",
		Short: "Say what a change of a LeaderWorkerSet would do, without doing it",
		Long: `plan says what applying a manifest, or setting annotations, would do to the groups of
a LeaderWorkerSet: which are taken down, in which order, what stands in for them, how
many are Ready at the worst moment, and what could hold it up. The controller's own
planner answers; the API server checks the change by a dry run. Nothing is written.

Pods that are created are taken to become Ready if they fit the nodes. What is not
Ready now is taken to stay so until it is recreated.`,
		Example: `  lws-controller plan -f demo.yaml
  lws-controller plan demo --annotate restarted-at=2026-12-01T10:00:00Z
  lws-controller plan demo --annotate undo=previous -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&c.file, "filename", "f", "", "`file` with the changed set, as it would be applied; - for standard input")
	f.StringArrayVar(&c.annotate, "annotate", nil, "annotation that would be set, as `key=value`, or taken off, as key-; one of those that steer rollouts without its prefix, like paused=true")
	f.BoolVar(&c.options.AssumeBroken, "assume-broken", false, "see what happens if no group of the new revision becomes Ready")
	f.BoolVar(&c.options.AssumeRecovery, "assume-recovery", false, "take groups that are not Ready now to become so")
	f.StringVarP(&c.output, "output", "o", "text", "`text` or json")
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "`file` with the cluster to connect to")
	f.StringVar(&c.context, "context", "", "`name` of the kubeconfig context to use instead of the current one")
	f.StringVarP(&c.namespace, "namespace", "n", "", "`namespace` of the set, if the manifest names none")
	return cmd
}

func (c *command) run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	change, err := c.change(args, in)
	if err != nil {
		return err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent, config.QPS = c.agent, -1
	if change.Namespace == "" {
		if change.Namespace, _, err = loader.Namespace(); err != nil {
			return fmt.Errorf("reading the kubeconfig: %w", err)
		}
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	sets, err := client.New(config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	snapshot, err := Reader{Kube: kube, Sets: sets}.Read(ctx, &change, time.Now())
	if err != nil {
		return err
	}
	options := c.options
	options.Stopped = func() bool { return ctx.Err() != nil }
	report, err := Make(snapshot, options)
	if err != nil {
		return err
	}
	if c.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.Print(out)
}

// change is what the command line asks about.
func (c *command) change(args []string, in io.Reader) (Change, error) {
	var change Change
	if c.output != "text" && c.output != "json" {
		return change, fmt.Errorf("--output must be text or json, not %q", c.output)
	}
	if (c.file == "") == (len(args) == 0) {
		return change, errors.New("give either a manifest (-f) or the name of a set")
	}
	annotations, err := ReadAnnotations(c.annotate)
	if err != nil {
		return change, fmt.Errorf("--annotate: %w", err)
	}
	switch {
	case c.file == "":
		change.Name = args[0]
	case c.file == "-":
		change, err = ReadManifest(in)
	default:
		var file *os.File
		if file, err = os.Open(c.file); err != nil {
			return change, err
		}
		defer file.Close()
		change, err = ReadManifest(file)
	}
	if err != nil {
		return change, fmt.Errorf("%s: %w", c.file, err)
	}
	if c.namespace != "" && change.Namespace != "" && c.namespace != change.Namespace {
		return change, fmt.Errorf("the manifest is of namespace %s, not of %s", change.Namespace, c.namespace)
	}
	if c.namespace != "" {
		change.Namespace = c.namespace
	}
	change.Annotations = annotations
	return change, nil
}
