// Command cluster keeps one control plane running in the background, for people
// at a terminal:
//
//	go run ./cmd/cluster up       # builds once, starts, prints the kubeconfig
//	go run ./cmd/cluster status
//	go run ./cmd/cluster down
//	go run ./cmd/cluster build    # builds only
//
// Up twice is no error: the second finds the first. The cluster is the child of
// a background process (the hidden command serve) and ends with it; state and
// kubeconfig are in the user's cache folder. What down ends is gone: the next up
// starts empty.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lws-controller/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A Kubernetes control plane with simulated nodes, in the background on this machine",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
	}
	var opts cluster.Options
	up := &cobra.Command{
		Use: "up", Short: "Start the cluster, unless it runs, and print how to reach it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd.Context(), cmd.OutOrStdout(), cmd.Flags()) },
	}
	serve := &cobra.Command{
		Use: "serve", Short: "Run the cluster in the foreground", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), opts) },
	}
	addFlags(up.Flags(), &opts)
	addFlags(serve.Flags(), &opts)
	root.AddCommand(up, serve,
		&cobra.Command{
			Use: "down", Short: "End the cluster and drop its data", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return down(cmd.Context(), cmd.OutOrStdout()) },
		},
		&cobra.Command{
			Use: "status", Short: "Say whether the cluster runs; exit status 1 if not", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return status(cmd.OutOrStdout()) },
		},
		&cobra.Command{
			Use: "build", Short: "Build the control plane's programs, unless they are there", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				bin, err := cluster.Build(cmd.Context(), cmd.ErrOrStderr())
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), bin.Dir)
				}
				return err
			},
		})
	return root
}

func addFlags(fs *pflag.FlagSet, o *cluster.Options) {
	fs.IntVar(&o.Nodes, "nodes", 8, "number of simulated nodes")
	fs.IntVar(&o.Racks, "racks", 2, "number of racks that the nodes stand in (node label "+cluster.RackLabel+")")
	fs.IntVar(&o.Zones, "zones", 1, "number of zones that the racks stand in")
	fs.BoolVar(&o.NoGangScheduling, "no-gang-scheduling", false, "turn native gang and topology-aware scheduling off")
	fs.BoolVar(&o.RaisedLimits, "raised-limits", false, "lift the request rates of scheduler and controller manager")
}

func down(ctx context.Context, out io.Writer) error {
	st, err := running()
	if errors.Is(err, errDown) {
		fmt.Fprintln(out, err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := st.stop(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "the cluster is down")
	return nil
}

func status(out io.Writer) error {
	st, err := running()
	if err != nil {
		return err
	}
	st.print(out)
	return nil
}
