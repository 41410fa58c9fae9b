package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"lws-controller/api/client"
	lwsv1 "lws-controller/api/v1"
	"lws-controller/e2e/cluster"
)

//go:embed manifest.yaml
var manifest string

const (
	namespace, name = "default", "demo" // as in manifest.yaml
	nodes           = 8
	// scaled is the number of groups that the set is scaled to.
	scaled = 5
	// availableTimeout is far more than the set needs on two busy cores.
	availableTimeout = 3 * time.Minute
	// refresh is how often the view is brought up to date.
	refresh = 250 * time.Millisecond
	// patience is how long the API server or the controller may not answer.
	patience  = 20 * time.Second
	tailLines = 20
)

// The main goroutine stays on the main thread: see startController.
func init() { runtime.LockOSThread() }

func main() {
	// A second Ctrl-C ends the program at once.
	signals, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(signals, stop)
	// Nobody reads what we print any more: end in order too.
	ctx, cancel := context.WithCancel(signals)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		<-pipe
		cancel()
	}()
	d := &demo{screen: newScreen(os.Stdout)}
	exit := os.Getenv("DEMO_EXIT")
	os.Exit(d.main(ctx, exit == "" || exit == "0", os.Stderr))
}

// demo is what has been started so far.
type demo struct {
	screen     *screen
	dir        string // for the controller's program and log, and the manifest
	cluster    *cluster.Cluster
	controller *process
	observer   *observer
}

// main runs the demo, cleans up and returns the exit status.
func (d *demo) main(ctx context.Context, stay bool, stderr io.Writer) (status int) {
	defer func() {
		if err := d.cleanUp(); err != nil {
			fmt.Fprintln(stderr, "Error: cleaning up:", err)
			status = max(status, 1)
		}
	}()
	err := d.show(ctx)
	if err == nil && stay {
		d.screen.printf("%s", d.whatNext())
		err = d.follow(ctx, func(Snapshot) bool { return false })
		if ctx.Err() != nil {
			return 0 // Ctrl-C is the way to end it
		}
	}
	switch {
	case ctx.Err() != nil:
		d.screen.printf("\nInterrupted.\n")
		return 130
	case err != nil:
		fmt.Fprintf(stderr, "\nError: %v\n", err)
		if d.controller != nil {
			fmt.Fprintf(stderr, "End of the controller's log:\n%s\n", d.controller.tail(tailLines))
		}
		return 1
	default:
		d.screen.printf("\nAll went well.\n")
		return 0
	}
}

// show is the demo up to the point where all is Available.
func (d *demo) show(ctx context.Context) error {
	for i, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"A control plane, from source: etcd, kube-apiserver, scheduler, controller manager", d.startCluster},
		{"The API: CRD and admission policy", d.install},
		{"The controller, from source", d.startController},
		{"A LeaderWorkerSet of 3 groups of 4 pods", d.create},
		{fmt.Sprintf("Scale to %d groups", scaled), d.scale},
	} {
		d.screen.printf("\n[%d/5] %s\n", i+1, step.title)
		if err := step.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) startCluster(ctx context.Context) (err error) {
	if _, err := cluster.Build(ctx, d.screen); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "lws-demo-"); err != nil {
		return err
	}
	start := time.Now()
	if d.cluster, err = cluster.Start(ctx, cluster.Options{Nodes: nodes, Progress: d.screen}); err != nil {
		return err
	}
	d.screen.printf("ready after %.1fs, with %d simulated nodes; logs in %s\n", time.Since(start).Seconds(), nodes, d.cluster.Dir())
	return nil
}

func (d *demo) install(ctx context.Context) error {
	root, err := sourceRoot()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(root, "deploy", "crd")},
		{"apply", "-k", filepath.Join(root, "deploy", "policy")},
		{"wait", "--for=condition=Established", "--timeout=60s", "crd/" + lwsv1.Resource + "." + lwsv1.GroupName},
	} {
		if err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// sourceRoot is the folder of the main module, found from this file.
func sourceRoot() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "deploy", "crd")); err != nil {
		return "", fmt.Errorf("the demo needs its source, and to be built without -trimpath: %w", err)
	}
	return root, nil
}

func (d *demo) startController(ctx context.Context) error {
	root, err := sourceRoot()
	if err != nil {
		return err
	}
	program := filepath.Join(d.dir, "lws-controller")
	if err := buildController(ctx, root, program); err != nil {
		return err
	}
	d.controller, err = startController(program, filepath.Join(d.dir, "controller.log"), d.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	if err := d.controller.waitReady(ctx); err != nil {
		return err
	}
	d.screen.printf("ready at %s; process %d; log in %s\n", d.controller.url, d.controller.cmd.Process.Pid, d.controller.log)
	config := d.cluster.Config("demo")
	d.observer = &observer{namespace: namespace, name: name, groupsURL: d.controller.url + "/debug/groups"}
	if d.observer.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	d.observer.sets, err = client.New(config)
	return err
}

func (d *demo) create(ctx context.Context) error {
	if err := os.WriteFile(d.manifestFile(), []byte(manifest), 0o644); err != nil {
		return err
	}
	d.screen.printf("%s", indent(manifest))
	if err := d.kubectl(ctx, "apply", "-f", d.manifestFile()); err != nil {
		return err
	}
	return d.untilAvailable(ctx)
}

func (d *demo) manifestFile() string { return filepath.Join(d.dir, "demo.yaml") }

func (d *demo) scale(ctx context.Context) error {
	if err := d.kubectl(ctx, "scale", "lws/"+name, fmt.Sprintf("--replicas=%d", scaled)); err != nil {
		return err
	}
	return d.untilAvailable(ctx)
}

func (d *demo) untilAvailable(ctx context.Context) error {
	d.screen.printf("\n")
	ctx, cancel := context.WithTimeoutCause(ctx, availableTimeout, fmt.Errorf("the set is not Available after %s", availableTimeout))
	defer cancel()
	return d.follow(ctx, Snapshot.Available)
}

// follow shows the set until it is as wanted. It is an error if the controller
// ends or if what is shown cannot be read for a while.
func (d *demo) follow(ctx context.Context, until func(Snapshot) bool) error {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	var last Snapshot
	read := time.Now()
	for {
		now, err := d.observer.look(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case d.controller.ended() != nil:
			return d.controller.ended()
		case err == nil:
			last, read = now, time.Now()
		case time.Since(read) > patience:
			return err
		default:
			last.Name, last.Trouble = name, err.Error()
		}
		d.screen.show(last)
		if err == nil && until(now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// kubectl shows a command and runs it.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	d.screen.printf("$ kubectl %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, d.cluster.Kubectl(), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.cluster.Kubeconfig())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w\n%s", args[0], err, out.Bytes())
	}
	_, _ = d.screen.Write(out.Bytes())
	return nil
}

// whatNext lists commands to copy. They can be given in this order.
func (d *demo) whatNext() string {
	return fmt.Sprintf(`
All groups are Ready. Now try, in another terminal:
  export KUBECONFIG=%s
  export PATH=%s:$PATH
  kubectl get lws,pods
  kubectl describe lws %[3]s
  kubectl scale lws %[3]s --replicas=7
  kubectl delete pod %[3]s-1-2   # group 1 is recreated as a whole
  kubectl delete service %[3]s   # comes back
  curl -s %[4]s/debug/groups
  curl -s %[4]s/metrics
  kubectl delete lws %[3]s --cascade=orphan   # its pods stay
  kubectl apply -f %[5]s   # adopts them
Ctrl-C here ends everything.

`, d.cluster.Kubeconfig(), filepath.Dir(d.cluster.Kubectl()), name, d.controller.url, d.manifestFile())
}

// cleanUp ends what runs and removes what is left, in the reverse order.
func (d *demo) cleanUp() error {
	var errs []error
	if d.cluster != nil {
		d.screen.printf("Ending what was started ...\n")
	}
	if d.controller != nil {
		d.controller.stop()
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Stop())
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
