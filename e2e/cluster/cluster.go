package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// LauncherAgent is the user agent of the launcher's own requests.
const LauncherAgent = "cluster-launcher"

// Cluster is a running control plane. Its methods may be called from several
// goroutines, except that one component is stopped and started by one at a time.
type Cluster struct {
	opts   Options
	bin    Binaries
	slot   *slot
	pki    *pki
	admin  *rest.Config
	client kubernetes.Interface
	procs  map[Component]*process

	mu   sync.Mutex
	keep bool
}

// Start builds the programs if need be, starts a cluster and returns when it is
// ready: nodes Ready, default service account there, kwok's policy in force.
// The context bounds the start only. On error nothing is left running, and the
// error shows the end of the log of the component at fault.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	bin, err := Build(ctx, opts.Progress)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, bin: bin, keep: opts.KeepDir}
	if c.slot, err = takeSlot(); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.slot.free(false))
	}
	if err := c.bringUp(ctx); err != nil {
		c.KeepDir()
		return nil, errors.Join(fmt.Errorf("starting a cluster in %s: %w", c.Dir(), err), c.Stop())
	}
	return c, nil
}

// prepare makes everything that needs no process.
func (c *Cluster) prepare() error {
	var err error
	if c.pki, err = newPKI(); err != nil {
		return err
	}
	if c.admin, err = c.ClientCert("admin", adminGroup); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.Config(LauncherAgent)); err != nil {
		return err
	}
	c.procs = map[Component]*process{}
	for _, comp := range components {
		c.procs[comp] = &process{
			name: string(comp), dir: c.Dir(),
			argv: append([]string{c.bin.Path(string(comp))}, c.args(comp)...),
			onExit: func(name string, err error) {
				fmt.Fprintf(c.opts.Progress, "cluster %s: %s ended unasked: %v\n", c.Dir(), name, err)
			},
		}
	}
	return c.writeFiles()
}

func (c *Cluster) bringUp(ctx context.Context) error {
	for _, comp := range []Component{Etcd, APIServer} {
		if err := c.StartComponent(ctx, comp); err != nil {
			return err
		}
	}
	for _, create := range []func(context.Context) error{c.createKwokPolicy, c.createStorageClass, c.createNodes} {
		if err := create(ctx); err != nil {
			return err
		}
	}
	// These three don't need each other: they come up side by side.
	rest := []Component{Scheduler, ControllerManager, Kwok}
	for _, comp := range rest {
		if err := c.procs[comp].start(); err != nil {
			return err
		}
	}
	for _, comp := range rest {
		if err := c.waitReady(ctx, comp); err != nil {
			return err
		}
	}
	if err := c.waitFor(ctx, ControllerManager, func(ctx context.Context) error {
		return c.hasDefaultServiceAccount(ctx, metav1.NamespaceDefault)
	}); err != nil {
		return err
	}
	return c.waitFor(ctx, APIServer, c.kwokPolicyInForce)
}

// StartComponent starts a component that was stopped, with the data it had, and
// waits until it is ready.
func (c *Cluster) StartComponent(ctx context.Context, comp Component) error {
	if err := c.procs[comp].start(); err != nil {
		return err
	}
	return c.waitReady(ctx, comp)
}

// stopGrace is how long a component may take to end after SIGTERM.
const stopGrace = 20 * time.Second

// StopComponent asks a component to end (SIGTERM), as an upgrade does, and waits
// for it. The API server first drains its requests, about 2 s; etcd waits 7 s
// for its clients to leave.
func (c *Cluster) StopComponent(comp Component) { c.procs[comp].stop(syscall.SIGTERM, stopGrace) }

// KillComponent ends a component at once (SIGKILL), as a crash does, and waits
// for it.
func (c *Cluster) KillComponent(comp Component) { c.procs[comp].stop(syscall.SIGKILL, stopGrace) }

// Log returns the path of a component's log.
func (c *Cluster) Log(comp Component) string { return c.procs[comp].logPath() }

// Dir is the cluster's folder: logs, audit log, certificates, data.
func (c *Cluster) Dir() string { return c.slot.dir }

// KeepDir lets Stop leave the folder behind, as Options.KeepDir does.
func (c *Cluster) KeepDir() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep = true
}

// Stop ends all processes, waits for them, and gives ports and folder back. The
// data goes with the folder, so nothing is asked to end in good order.
func (c *Cluster) Stop() error {
	var wg sync.WaitGroup
	for _, p := range c.procs {
		wg.Go(func() { p.stop(syscall.SIGKILL, stopGrace) })
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slot.free(c.keep)
}

// waitReady waits until a component answers that it is ready.
func (c *Cluster) waitReady(ctx context.Context, comp Component) error {
	switch comp {
	case Etcd:
		return c.waitFor(ctx, comp, probe("http://"+c.slot.addr(portEtcd)+"/health"))
	case APIServer:
		return c.waitFor(ctx, comp, probe(c.URL()+"/readyz"))
	case Scheduler:
		return c.waitFor(ctx, comp, probe("https://"+c.slot.addr(portScheduler)+"/healthz"))
	case ControllerManager:
		return c.waitFor(ctx, comp, probe("https://"+c.slot.addr(portControllerManager)+"/healthz"))
	default: // kwok serves nothing; what it does shows
		return c.waitFor(ctx, comp, c.nodesReady)
	}
}

// startTimeout bounds each wait: on two busy cores a start takes a few seconds.
const startTimeout = 2 * time.Minute

// waitFor polls until cond holds. It fails as soon as the component ends.
func (c *Cluster) waitFor(ctx context.Context, comp Component, cond func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p := c.procs[comp]
	for {
		err := cond(ctx)
		if err == nil {
			return nil
		}
		if exit := p.exited(); exit != nil {
			err = fmt.Errorf("%s: %w", comp, exit)
		} else {
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-ctx.Done():
				err = fmt.Errorf("%s is not ready: %w; last: %w", comp, ctx.Err(), err)
			}
		}
		return fmt.Errorf("%w\nend of %s:\n%s", err, p.logPath(), p.tail(20))
	}
}

// probe asks a health endpoint. Nothing secret goes there, so the certificate,
// which scheduler and controller manager make up themselves, is not verified.
func probe(url string) func(context.Context) error {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(url + " answers " + strconv.Itoa(resp.StatusCode))
		}
		return nil
	}
}
