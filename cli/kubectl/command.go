package kubectl

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

// The names under which the program is the plugin, and under which kubectl asks it
// to complete a command line.
const (
	Plugin     = "kubectl-lws"
	Completion = "kubectl_complete-lws"
)

// Exit statuses.
const (
	exitFailed = 1
	// exitTimeout is that of timeout(1).
	exitTimeout = 124
)

// exitError is an error with an exit status of its own.
type exitError struct {
	error
	status int
}

func (e exitError) Unwrap() error { return e.error }

// ExitStatus is what the process ends with after an error.
func ExitStatus(err error) int {
	if exit := (exitError{}); errors.As(err, &exit) {
		return exit.status
	}
	return exitFailed
}

// options are what all commands share.
type options struct {
	version string
	rules   *clientcmd.ClientConfigLoadingRules
	// overrides are the flags that every kubectl command has.
	overrides clientcmd.ConfigOverrides
	now       func() time.Time
	// connect makes the clients, tests others.
	connect func() (*clients, error)
}

// New returns the commands, below a command named kubectl.
func New(version string) *cobra.Command {
	o := &options{version: version, rules: clientcmd.NewDefaultClientConfigLoadingRules(), now: time.Now}
	o.connect = o.dial
	return o.command()
}

// NewPlugin returns the commands as those of the plugin.
func NewPlugin(version string) *cobra.Command {
	cmd := New(version)
	cmd.Use = Plugin
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lws"}
	cmd.Version = version
	// kubectl completes the words of plugins itself; see Completion.
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

func (o *options) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl",
		Short: "Show and steer LeaderWorkerSets: the plugin kubectl lws",
		Long: `kubectl lws shows the groups of a LeaderWorkerSet and steers its rollout. It
writes nothing but annotations of the set, and says which: the same can be done
by hand, or in the manifest.

Exit status: 0 done, 1 an error; of wait: 0 it has come about, 1 it will not by
itself or an error, 124 it has not in time.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetErrPrefix("error:")
	flags := cmd.PersistentFlags()
	flags.StringVar(&o.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "`file` with the cluster to connect to")
	clientcmd.BindOverrideFlags(&o.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
	cmd.AddCommand(o.statusCommand(), o.historyCommand(), o.diffCommand(), o.undoCommand(), o.pauseCommand(), o.resumeCommand(),
		o.restartCommand(), o.recycleCommand(), o.partitionCommand(), o.waitCommand())
	return cmd
}

// oneSet is the rule of commands that take the name of a set and no more.
func oneSet(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("the name of one LeaderWorkerSet is needed, as in: %s NAME", cmd.CommandPath())
	}
	return nil
}

// terminal is the command's output if that is a terminal.
func terminal(cmd *cobra.Command) *os.File {
	if file, ok := cmd.OutOrStdout().(*os.File); ok && isTerminal(file) {
		return file
	}
	return nil
}
