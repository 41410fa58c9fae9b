// Command demo shows the controller at work on this machine: it starts a control
// plane of package cluster, installs CRD and policy, builds and runs the
// controller from source, creates a LeaderWorkerSet and scales it, and shows its
// groups and their phases meanwhile. Then it says what to try next and stays
// until Ctrl-C; with DEMO_EXIT=1 in the environment it ends instead.
//
// The exit status is 0 if all went well, 130 if it was interrupted before that,
// else 1, with the reason and the end of the controller's log. Whatever it
// started has ended by then, and its folders are gone.
//
// view.go turns what is known of a set into lines and knows nothing else;
// observe.go learns it from the API server and from the controller's
// /debug/groups; screen.go puts lines on a terminal, or prints only what changes
// where there is none; controller.go runs the controller; main.go has the steps.
package main
