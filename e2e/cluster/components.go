package cluster

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// Which port of the slot is whose.
const (
	portEtcd = iota
	portEtcdPeer
	portAPIServer
	portScheduler
	portControllerManager
)

//go:embed audit-policy.yaml
var auditPolicy []byte

const auditLogFile = "audit.log"

// args returns the command line of a component, without its program. All
// arguments that depend on nothing but the options are here.
func (c *Cluster) args(comp Component) []string {
	args := map[Component]func() []string{
		Etcd: c.etcdArgs, APIServer: c.apiServerArgs, Scheduler: c.schedulerArgs,
		ControllerManager: c.controllerManagerArgs, Kwok: c.kwokArgs,
	}[comp]()
	return append(args, c.opts.ExtraArgs[comp]...)
}

func (c *Cluster) etcdArgs() []string {
	client, peer := "http://"+c.slot.addr(portEtcd), "http://"+c.slot.addr(portEtcdPeer)
	return []string{
		"--name=etcd", "--data-dir=" + c.path("etcd-data"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=etcd=" + peer,
		// Survives a kill of the process, not of the machine: enough here.
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--logger=zap", "--log-level=warn",
	}
}

func (c *Cluster) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=http://" + c.slot.addr(portEtcd),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.slot.port+portAPIServer),
		// Endpoints of the Service kubernetes must not be a loopback address.
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/12",
		"--client-ca-file=" + c.path(caFile),
		// Without these, scheduler and controller manager complain. There is no
		// proxy, and nobody gets a certificate of that name.
		"--requestheader-client-ca-file=" + c.path(caFile), "--requestheader-allowed-names=no-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--tls-cert-file=" + c.path(servingCrtFile), "--tls-private-key-file=" + c.path(servingKeyFile),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path(saKeyFile), "--service-account-signing-key-file=" + c.path(saKeyFile),
		"--authorization-mode=RBAC",
		// A stop then waits two seconds for watches to end, else a minute.
		"--shutdown-send-retry-after=true",
		"--feature-gates=" + c.gates(),
	}
	if !c.opts.NoGangScheduling {
		args = append(args, "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true")
	}
	if !c.opts.NoAudit {
		args = append(args,
			"--audit-policy-file="+c.path("audit-policy.yaml"), "--audit-log-path="+c.path(auditLogFile),
			// An event is in the file before its request is answered, and the file
			// is never rotated: Audit misses nothing.
			"--audit-log-mode=blocking", "--audit-log-maxsize=1000000",
			// Nor does etcd forget what was stored: History has it all.
			"--etcd-compaction-interval=0")
	}
	return args
}

func (c *Cluster) gates() string {
	on := !c.opts.NoGangScheduling
	return fmt.Sprintf("GenericWorkload=%t,TopologyAwareWorkloadScheduling=%t", on, on)
}

func (c *Cluster) schedulerArgs() []string {
	return []string{
		"--config=" + c.path("scheduler.yaml"),
		"--authentication-kubeconfig=" + c.path("scheduler.kubeconfig"),
		"--authorization-kubeconfig=" + c.path("scheduler.kubeconfig"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.slot.port+portScheduler),
		"--feature-gates=" + c.gates(),
	}
}

// schedulerConfig holds what has no flag.
func (c *Cluster) schedulerConfig() string {
	qps, burst := 50, 100 // the defaults
	if c.opts.RaisedLimits {
		qps, burst = 2000, 4000
	}
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
`, c.path("scheduler.kubeconfig"), qps, burst)
}

func (c *Cluster) controllerManagerArgs() []string {
	kubeconfig := c.path("controller-manager.kubeconfig")
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.slot.port+portControllerManager),
		"--service-account-private-key-file=" + c.path(saKeyFile), "--root-ca-file=" + c.path(caFile),
		// All controllers are one user: to create an account for each, at the
		// default request rate, would double the time of a start. Their user
		// agents end with the controller's name.
		"--use-service-account-credentials=false",
		"--feature-gates=" + c.gates(),
	}
	if c.opts.RaisedLimits {
		args = append(args, "--kube-api-qps=500", "--kube-api-burst=1000")
	}
	return args
}

func (c *Cluster) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + c.path("kwok.kubeconfig"),
		"--config=" + c.path("kwok.yaml"),
		"--manage-all-nodes=true",
		"--cidr=10.128.0.0/9", "--node-ip=192.0.2.1",
		"--node-lease-duration-seconds=40",
	}
}

// adminGroup may do everything.
const adminGroup = "system:masters"

// writeFiles puts everything that components read into the cluster's folder.
func (c *Cluster) writeFiles() error {
	if err := c.pki.write(c.Dir()); err != nil {
		return err
	}
	kwokConfig, err := kwokConfig(c.bin, c.opts.Stages)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"audit-policy.yaml": auditPolicy,
		"scheduler.yaml":    []byte(c.schedulerConfig()),
		"kwok.yaml":         kwokConfig,
	} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	for file, who := range map[string][]string{
		"admin.kubeconfig":              {"admin", adminGroup},
		"scheduler.kubeconfig":          {"system:kube-scheduler"},
		"controller-manager.kubeconfig": {"system:kube-controller-manager", adminGroup},
		"kwok.kubeconfig":               {kwokUser, adminGroup},
	} {
		cfg, err := c.ClientCert(who[0], who[1:]...)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(c.path(file), cfg); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) path(name string) string { return filepath.Join(c.Dir(), name) }
