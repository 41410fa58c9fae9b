// Command lws-controller runs LeaderWorkerSets: groups of pods, one leader and
// its workers, that are created, placed, updated and recreated as one unit.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"lws-controller/api/client"
	v1 "lws-controller/api/v1"
	"lws-controller/cli/kubectl"
	"lws-controller/cli/plan"
	"lws-controller/cli/replay"
	"lws-controller/cli/serve"
	"lws-controller/controller"
	"lws-controller/informers"
	"lws-controller/metrics"

	"lws-controller/revision"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cmd, err := commandFor(os.Args[0], os.Args[1:]).ExecuteContextC(ctx)
	klog.Flush()
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, cmd.ErrPrefix(), err)
		}
		stop()
		os.Exit(kubectl.ExitStatus(err))
	}
}

// commandFor is the command tree that goes with the name of the program: a link to it
// in the PATH makes it a plugin of kubectl.
func commandFor(program string, args []string) *cobra.Command {
	var cmd *cobra.Command
	switch strings.TrimSuffix(filepath.Base(program), ".exe") {
	case kubectl.Plugin:
		cmd = kubectl.NewPlugin(buildVersion())
	case kubectl.Completion:
		cmd = kubectl.NewPlugin(buildVersion())
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	default:
		cmd = newCommand()
	}
	cmd.SetArgs(args)
	return cmd
}

// newCommand is the command tree. The controller is its default command.
func newCommand() *cobra.Command {
	o := defaultOptions()
	cmd := &cobra.Command{
		Use:   "lws-controller",
		Short: "Run LeaderWorkerSets: groups of pods as one unit",
		Long: `lws-controller turns LeaderWorkerSets (leaderworkerset.x-k8s.io/v1) into groups of
pods: one leader and its workers, created, updated and recreated as one unit.
It runs until it is stopped; several replicas elect a leader.

Outside a cluster it uses --kubeconfig, $KUBECONFIG or ~/.kube/config.`,
		Version:       buildVersion(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.addFlags(cmd.Flags())
	cmd.SetErrPrefix("lws-controller:")
	cmd.AddCommand(newReplayCommand(), plan.NewCommand("lws-controller/"+buildVersion()), kubectl.New(buildVersion()))
	return cmd
}

func newReplayCommand() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay a journal: print each decision, and where today's code decides differently",
		Long: `replay reads a file that the controller wrote with --journal-file, folds its events
again, makes each plan anew, and prints events, transitions, plans and their
reasons. It asks no cluster. Where this version of the controller decides
differently from what was recorded, it says so and exits with status 1.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := replay.ParseGroup(only)
			if err != nil {
				return fmt.Errorf("--group: %w", err)
			}
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			sum, err := replay.Run(file, cmd.OutOrStdout(), o)
			if err != nil {
				return err
			}
			if sum.Shown == 0 {
				return fmt.Errorf("the journal has nothing of %s", cmp.Or(only, "any set"))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d lines: %d events, %d transitions, %d plans; %d differences\n",
				sum.Lines, sum.Events, sum.Transitions, sum.Plans, sum.Differences)
			if sum.Lost+sum.Skipped > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "incomplete: %d lines were lost, %d are of sets that had not begun\n", sum.Lost, sum.Skipped)
			}
			if sum.Differences > 0 {
				return replay.ErrDifferent
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&only, "group", "", "print only `namespace/set[/group]`")
	return cmd
}

// buildVersion is that of the module the binary was built from, or of its commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// options are the flags of the controller.
type options struct {
	kubeconfig string
	context    string
	namespace  string
	listen     string
	pprof      bool
	workers    int
	qps        float32
	burst      int

	leaderElect          bool
	leaderElectNamespace string
	leaseDuration        time.Duration
	renewDeadline        time.Duration
	retryPeriod          time.Duration

	allowKueueUnmanaged bool
	metricsPerGroup     bool
	schedulerProvider   string

	logFormat      string
	journalFile    string
	journalMaxSize int64

	// identity is what the process holds the lease with.
	identity string
}

func defaultOptions() *options {
	host, _ := os.Hostname() // for people only: the rest of the identity is unique
	return &options{
		identity:      host + "_" + string(uuid.NewUUID()),
		listen:        ":8080",
		workers:       8,
		leaderElect:   true,
		leaseDuration: 15 * time.Second,
		renewDeadline: 10 * time.Second,
		retryPeriod:   2 * time.Second,
		logFormat:     "text",

		journalMaxSize: 100,
	}
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "`file` with the cluster to connect to; in a cluster the pod's own service account is used without it")
	f.StringVar(&o.context, "context", o.context, "`name` of the kubeconfig context to use instead of the current one")
	f.StringVar(&o.namespace, "namespace", o.namespace, "serve only the sets of this `namespace`; empty: of all namespaces")
	f.StringVar(&o.listen, "listen", o.listen, "`address` of the HTTP server for the status page, /healthz, /readyz, /metrics and /debug/groups; empty: no server")
	f.BoolVar(&o.pprof, "pprof", o.pprof, "serve Go profiles under /debug/pprof/ too")
	f.IntVar(&o.workers, "workers", o.workers, "how many sets are synced at the same time")
	f.Float32Var(&o.qps, "kube-api-qps", o.qps, "most requests per second to the API server, watches, leases and events aside; 0: no limit, the API server's priority and fairness decides")
	f.IntVar(&o.burst, "kube-api-burst", o.burst, "requests that may exceed --kube-api-qps for a moment; 0: twice as many as the limit")
	f.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "elect a leader among the replicas; only the leader writes")
	f.StringVar(&o.leaderElectNamespace, "leader-elect-namespace", o.leaderElectNamespace, "`namespace` of the lease; empty: the pod's own, or kube-system outside a cluster")
	f.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", o.leaseDuration, "how long after the last renewal another replica may take over")
	f.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", o.renewDeadline, "how long the leader tries to renew before it gives up and exits")
	f.DurationVar(&o.retryPeriod, "leader-elect-retry-period", o.retryPeriod, "how long to wait between two tries to take or renew the lease")
	f.BoolVar(&o.allowKueueUnmanaged, "allow-kueue-unmanaged", o.allowKueueUnmanaged, "create the pods of sets that Kueue manages too, which then run without quota; Kueue is not supported yet")
	f.StringVar(&o.schedulerProvider, "scheduler-provider", o.schedulerProvider, "`name` of a scheduler that places groups whose pods have its schedulerName as one: volcano, by PodGroups of its own; empty: none")
	f.BoolVar(&o.metricsPerGroup, "metrics-per-group", o.metricsPerGroup, "serve a time series for each group under /metrics, not only for each set")
	f.StringVar(&o.logFormat, "log-format", o.logFormat, "`text` or json")
	f.StringVar(&o.journalFile, "journal-file", o.journalFile, "`file` to take down every event and decision in, as JSON lines, for the command replay")
	f.Int64Var(&o.journalMaxSize, "journal-max-size", o.journalMaxSize, "size in MiB at which the journal becomes <file>.1 and a new one is begun")
	klogFlags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	for _, name := range []string{"v", "vmodule"} {
		f.AddGoFlag(klogFlags.Lookup(name))
	}
}

// validate refuses what cannot work, naming the flag.
func (o *options) validate() error {
	for flag, namespace := range map[string]string{"namespace": o.namespace, "leader-elect-namespace": o.leaderElectNamespace} {
		if namespace == "" {
			continue
		}
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--%s must be the name of a namespace, not %q: %s", flag, namespace, problems[0])
		}
	}
	switch {
	case o.schedulerProvider != "" && o.schedulerProvider != v1.VolcanoScheduler:
		return fmt.Errorf("--scheduler-provider must be %s or nothing, not %q", v1.VolcanoScheduler, o.schedulerProvider)
	case o.logFormat != "text" && o.logFormat != "json":
		return fmt.Errorf("--log-format must be text or json, not %q", o.logFormat)
	case o.journalMaxSize < 1:
		return fmt.Errorf("--journal-max-size must be at least 1 (MiB), not %d", o.journalMaxSize)
	case o.workers < 1:
		return fmt.Errorf("--workers must be at least 1, not %d", o.workers)
	case o.qps < 0:
		return fmt.Errorf("--kube-api-qps must not be negative, but is %g", o.qps)
	case o.burst < 0:
		return fmt.Errorf("--kube-api-burst must not be negative, but is %d", o.burst)
	case o.leaderElect && o.leaseDuration <= o.renewDeadline:
		return fmt.Errorf("--leader-elect-lease-duration (%s) must be longer than --leader-elect-renew-deadline (%s)", o.leaseDuration, o.renewDeadline)
	case o.leaderElect && o.renewDeadline <= o.retryPeriod*6/5:
		return fmt.Errorf("--leader-elect-renew-deadline (%s) must be longer than 1.2 times --leader-elect-retry-period (%s)", o.renewDeadline, o.retryPeriod)
	case o.leaderElect && o.retryPeriod <= 0:
		return fmt.Errorf("--leader-elect-retry-period must be positive, not %s", o.retryPeriod)
	}
	return nil
}

func (o *options) setupLogging() {
	if o.logFormat == "json" {
		// klog itself filters by -v.
		klog.SetSlogLogger(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.Level(-10)})))
	}
}

// config connects as kubectl would, or as the pod's service account.
func (o *options) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster to connect to: give --kubeconfig, set $KUBECONFIG, or run in a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.UserAgent = "lws-controller/" + buildVersion()
	config.QPS = -1
	return config, nil
}

// limited is the configuration for all requests but leases and events.
func (o *options) limited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if o.qps > 0 {
		config.QPS, config.Burst = o.qps, o.burst
		if o.burst == 0 {
			config.Burst = max(1, int(2*o.qps))
		}
	}
	return config
}

// podNamespaceFile is where a pod finds its namespace.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (o *options) leaseNamespace() string {
	if o.leaderElectNamespace != "" {
		return o.leaderElectNamespace
	}
	if data, err := os.ReadFile(podNamespaceFile); err == nil {
		if namespace := strings.TrimSpace(string(data)); namespace != "" {
			return namespace
		}
	}
	return "kube-system"
}

// oldest is the oldest Kubernetes that has what the CRD's validation needs.
const oldest = "1.33"

// run runs the controller until the context ends. It returns when everything has
// ended: workers first, then the lease, then informers and events.
func (o *options) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	o.setupLogging()
	config, err := o.config()
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	logger.Info("Starting", "version", config.UserAgent, "server", config.Host, "namespace", o.namespace, "leaderElect", o.leaderElect)

	// Before clients and the queue are made, which would not be counted otherwise.
	registry := metrics.New(buildVersion())

	// Everything but the workers runs until this context ends, which is after the
	// workers have stopped.
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(errors.New("stopped"))

	var journal *controller.Journal
	if o.journalFile != "" {
		if journal, err = controller.OpenJournal(o.journalFile, o.journalMaxSize<<20); err != nil {
			return fmt.Errorf("--journal-file: %w", err)
		}
		defer func() {
			if err := journal.Close(); err != nil {
				logger.Error(err, "The journal is incomplete")
			}
		}()
	}
	c, caches, err := o.wire(base, config, journal)
	if err != nil {
		return err
	}
	registry.MustRegister(metrics.NewCollector(c.State))
	defer caches.Wait()
	defer stop(errors.New("stopped"))
	server := serve.New(serve.Options{Controller: c, Caches: caches, Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}), Profiles: o.pprof})
	serveErr := make(chan error, 1)
	if o.listen != "" {
		listening, err := server.Listen(base, o.listen)
		if err != nil {
			return err
		}
		running.Go(func() { serveErr <- listening() })
	}
	// The server is up by now: a process that waits is alive, though not ready.
	if err := checkServer(ctx, config); err != nil {
		return stopped(ctx, err)
	}
	caches.Start(base)
	if err := caches.WaitForSync(ctx); err != nil {
		return stopped(ctx, err)
	}
	logger.Info("Caches are filled")
	if _, known := caches.Node(""); !known {
		logger.Info("Nothing is known of nodes: pods that do not go are reported, and none is deleted by force", "reason", "only one namespace is served")
	}

	work, stopWork := context.WithCancelCause(ctx)
	defer stopWork(nil)
	running.Go(func() {
		select {
		case err := <-serveErr:
			stopWork(err)
		case <-base.Done():
		}
	})
	if !o.leaderElect {
		server.Leading.Store(true)
		c.Run(work)
		return stopped(ctx, context.Cause(work))
	}
	return o.lead(ctx, work, config, server, c.Run)
}

// stopped is nil when the process was asked to stop.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// wire makes the clients, caches and the controller. Events go out until the
// context ends.
func (o *options) wire(ctx context.Context, config *rest.Config, journal *controller.Journal) (*controller.Controller, *informers.Informers, error) {
	// Built-in kinds travel as protobuf, ours as JSON; events have limits of their
	// own.
	fast := o.limited(config)
	fast.ContentType = runtime.ContentTypeProtobuf
	fast.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	kube, err := kubernetes.NewForConfig(fast)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client: %w", err)
	}
	sets, err := client.New(o.limited(config))
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of LeaderWorkerSets: %w", err)
	}
	eventClient, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of events: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("registering the types: %w", err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("registering the types: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: eventClient.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("starting to record events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)

	var volcano dynamic.Interface
	if o.schedulerProvider == v1.VolcanoScheduler {
		if volcano, err = dynamic.NewForConfig(o.limited(config)); err != nil {
			return nil, nil, fmt.Errorf("making the client of Volcano: %w", err)
		}
	}
	caches, err := informers.New(kube, sets, volcano, o.namespace)
	if err != nil {
		return nil, nil, err
	}
	c := controller.New(controller.Options{
		API:       controller.NewAPI(kube, sets, volcano),
		Revisions: revision.Store{Client: kube.AppsV1()},
		Cache:     caches,
		Recorder:  broadcaster.NewRecorder(scheme, "lws-controller"),
		Fence:     func(now time.Time) string { return caches.Fence(o.identity, now) },
		Journal:   journal,
		Workers:   o.workers,
		Metrics:   &metrics.Recorder{},

		MetricsPerGroup: o.metricsPerGroup,

		AllowKueueUnmanaged: o.allowKueueUnmanaged,
		Volcano:             volcano != nil,
	})
	if err := caches.Watch(c); err != nil {
		return nil, nil, err
	}
	return c, caches, nil
}

// lead runs work while this replica holds the lease. The lease is released only
// after work has ended.
func (o *options) lead(ctx, work context.Context, config *rest.Config, server *serve.Server, run func(context.Context)) error {
	leases, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client of leases: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, o.leaseNamespace(), informers.LeaseName,
		leases.CoreV1(), leases.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: o.identity})
	if err != nil {
		return fmt.Errorf("making the lease: %w", err)
	}
	// The election outlives the workers, so that nobody else starts before they
	// have stopped.
	election, endElection := context.WithCancel(context.WithoutCancel(ctx))
	defer endElection()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: informers.LeaseName, ReleaseOnCancel: true,
		LeaseDuration: o.leaseDuration, RenewDeadline: o.renewDeadline, RetryPeriod: o.retryPeriod,
		WatchDog: server.Lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer endElection()
				klog.FromContext(ctx).Info("Became leader", "lease", klog.KRef(o.leaseNamespace(), informers.LeaseName))
				both, cancel := context.WithCancel(work)
				defer cancel()
				defer context.AfterFunc(leading, cancel)()
				server.Leading.Store(true)
				defer server.Leading.Store(false)
				run(both)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("setting up the election: %w", err)
	}
	leader := elector.GetLeader
	server.Leader.Store(&leader)
	defer context.AfterFunc(work, func() {
		if !server.Leading.Load() {
			endElection()
		}
	})()
	elector.Run(election)
	switch {
	case ctx.Err() != nil:
		return nil
	case work.Err() != nil:
		return context.Cause(work)
	default:
		return errors.New("lost the lease: another replica may lead now")
	}
}

// checkServer waits until the API server answers and refuses one that is too old.
func checkServer(ctx context.Context, config *rest.Config) error {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making the discovery client: %w", err)
	}
	logger := klog.FromContext(ctx)
	var found string
	err = wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		info, err := d.ServerVersionWithContext(ctx)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			logger.Error(err, "The API server does not answer, will be tried again", "server", config.Host)
			return false, nil
		}
		found = info.GitVersion
		return true, nil
	})
	if err != nil {
		return err
	}
	v, err := version.ParseGeneric(found)
	if err != nil {
		return fmt.Errorf("the API server's version %q: %w", found, err)
	}
	if v.LessThan(version.MustParseGeneric(oldest)) {
		return fmt.Errorf("the API server is Kubernetes %s; %s or newer is needed", found, oldest)
	}
	if _, err := d.ServerResourcesForGroupVersionWithContext(ctx, v1.SchemeGroupVersion.String()); err != nil {
		logger.Error(err, "The LeaderWorkerSet CRD cannot be found; waiting for it", "apply", "kubectl apply -k deploy")
	}
	return nil
}
