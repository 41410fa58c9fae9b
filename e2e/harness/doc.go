// Package harness is what the end-to-end tests share: the controller run as a
// process against a control plane of package cluster, clients of a test user, and
// helpers to make sets, wait, and look at what the controller wrote.
//
// A package of tests shares one cluster and one controller, and each test has a
// namespace of its own, so that tests can run in parallel:
//
//	var env *harness.Env
//
//	func TestMain(m *testing.M) {
//		os.Exit(harness.Main(m, cluster.Options{}, &env))
//	}
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		ns := env.Namespace(t)
//		set := env.Create(t, harness.NewSet(ns, "web", harness.Replicas(3), harness.Size(4)))
//		set = env.WaitAvailable(t, set)
//		pods := env.Pods(t, set)
//		...
//	}
//
// A test that stops the controller, or the control plane, starts its own:
//
//	c := cluster.StartT(t, cluster.Options{})
//	harness.Install(t, c)
//	env := harness.NewEnv(t, c)
//	env.Controller = harness.StartController(t, c, "--workers=1")
//	env.Controller.Ready(t)
//
// The controller runs with the rights of its service account in deploy/rbac and
// nothing more, with the race detector and the mutation detector of client-go. A
// test fails if the controller's log shows a data race, a panic or a move of a
// group that the transition table does not declare, however it ended.
//
// No expectations about sets belong here: those are the tests'.
package harness
