// Package cluster starts a real Kubernetes control plane on this machine, for
// tests, the demo and benchmarks: etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager, and kwok, which plays the nodes and their kubelets.
// No container engine is needed: the programs are built once from the Go
// modules pinned in the folder binaries and kept in the user's cache folder.
//
// In a test:
//
//	func TestSomething(t *testing.T) {
//		c := cluster.StartT(t, cluster.Options{Nodes: 4, Racks: 2})
//		client, err := kubernetes.NewForConfig(c.Config("my-test"))
//		...
//		ns := c.NamespaceT(t, "some-ns")          // usable at once
//		since := time.Now()
//		...
//		writes, err := c.Audit(cluster.AuditFilter{
//			UserAgent: "lws-controller/", Since: since, Writes: true,
//		})
//		if len(writes) > 0 {
//			t.Errorf("a converged set was written to:\n%s", cluster.Summary(writes))
//		}
//	}
//
// A go test that has to build first shows no progress and runs into its time
// limit: let `go run ./cmd/cluster build` come before it.
//
// Each cluster has its own ports, folder and certificates, so several can run
// at once, in one process or in many. Its processes die with the process that
// started them, also when that is killed. A test that fails keeps the folder
// with all logs, and says where it is.
//
// What a cluster can do besides:
//
//   - Stop, kill and start single components with their data kept:
//     StopComponent, KillComponent, StartComponent.
//   - Act as anybody: ClientCert (any user and groups), ServiceAccount.
//   - Tell who asked what of the API server: Audit.
//   - Make pods slow, hanging, failing or restarting by annotations: see the
//     Annotation constants. Whole kwok stages can be added or replaced through
//     Options.Stages.
//   - Gang and topology-aware scheduling are on (Options.NoGangScheduling turns
//     them off); ServiceAccount admission and RBAC are on.
//
// Two habits of kwok that no kubelet has are refused at the API server, see
// kwokPolicy: otherwise tests would blame the controller for them.
//
// Nothing but Go code for the launcher lives here; tests of the controller and
// their helpers have packages of their own.
package cluster
