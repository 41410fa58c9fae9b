// Package scenario is the specification of the controller that can be read, and
// run: each file in testdata is a story of a set in the simulated cluster of
// package sim, with all that the controller does in it. Only tests import it.
//
// A file is a list of commands, each followed by what came of it:
//
//	scale 1
//	----
//	status generation 1→2, established 2→1, +recycling{1.1 ScaleDown r1}
//	group 1 Ready → Recycling (ScaleDown)
//	delete pod a-1, a-1-1
//	gone pod a-1, a-1-1
//	group 1 Recycling → Gone (scaled down)
//	status replicas 2→1, ready 2→1, updated 2→1, -recycling{1.1 ScaleDown r1}
//
// The set is called a, so its pods are a-0, a-0-1, ... Everything is deterministic
// and takes no real time. A command lets the world run for one second, in which
// caches catch up, syncs run, and pods are bound, start and become Ready, unless
// something is held back.
//
// # What is told
//
// In the order in which it happened: writes of the controller (create, delete,
// adopt, release, mark, status, patch), writes that were refused, events, moves of
// groups between phases with their cause, deletions by the garbage collector, pods
// that a kubelet ended (gone), starts and crashes of the controller. Lines that
// differ only in the object are one line. "after 10s:" counts from the beginning of
// the command. Revisions are r1, r2, ... in the order of their appearance. Of a
// status only what changed is told: recycling{1.2 Failure r1} is a teardown on
// record, of group 1 in incarnation 2, to come back at r1; restarts{1 r1: 2} says
// that group 1 was recreated twice at r1.
//
// All writes are watched by package invariant. A broken invariant is told as
// VIOLATION, and fails the test even if the file expects it.
//
// # Commands of people
//
//	apply replicas=2 size=3 startupPolicy=LeaderReady
//	    creates the set. Without arguments it has one group of one pod and all
//	    defaults. Arguments are the fields of the API: replicas, size,
//	    startupPolicy, restartPolicy, maxGroupRestarts, subdomainPolicy, image,
//	    maxUnavailable, maxSurge, partition, scheduling (gang, rack, basic, none), and annotations=(key=value, ...), an empty value taking one
//	    off. The image "bad" cannot be pulled.
//	edit image=v2 partition=1
//	    changes the set, in one write.
//	scale 4
//	    changes the number of groups.
//	delete set propagation=Foreground
//	    deletes the set: Background (default), Foreground or Orphan.
//	delete namespace
//	    deletes the namespace with all that is in it.
//	delete pod a-0-1
//	    deletes a pod, service, revision, budget, claim, podgroup or workload by hand.
//	finalizer a-0-1 example.com/held
//	    puts a finalizer on a pod; with "lift", takes it off.
//	strip a-0-1 label=group-index
//	    takes a label off a pod: that of the set, if none is named. strip revision
//	    a-r1-1 takes one off a revision, strip podgroup a-0-1 off a PodGroup.
//	label a-0-1 name=a
//	    sets labels. One without a prefix has leaderworkerset.sigs.k8s.io/.
//	squat pod a-1 name=a
//	    creates a pod or a service that is not the set's, with labels if wished. squat
//	    budget theirs name=a creates a disruption budget for the pods with these labels,
//	    squat claim data-a-1 a claim that a StatefulSet controls, squat podgroup and
//	    squat workload such a PodGroup or Workload.
//	evict a-0-1 a-1
//	    evicts pods, one after the other, as a drain does: as far as budgets allow it.
//	crd published
//	    has the CRD be the published one, which drops what it does not know of a
//	    set; "crd ours" applies ours again.
//	quota 3
//	    limits how many pods there may be; "quota none" lifts it.
//
// # Commands of nodes and time
//
//	pod a-0-1 restart
//	    has something go wrong with a pod: restart, restart-init-container,
//	    restart-ephemeral-container, crash-loop, fail, succeed, unready, evict, vanish.
//	nodes hold=(a-0, a-1)
//	    no scheduler or kubelet acts on these pods any more; they neither start nor
//	    end. nodes release=(a-0) lets them again.
//	nodes a-0 steps=2
//	    has scheduler and kubelet take steps with named pods, held or not: bound,
//	    running, Ready. Without steps: as many as there are.
//	node node-1 lost
//	    has something happen to a node: lost (nothing is heard of it), back, reboot,
//	    taint (out of service), delete. node node-1 room=2 says for how many pods it has room, node
//	    node-1 rack=rack-2 changes its label rack (none: takes it away), node add rack=rack-2 room=2
//	    adds another. There is node-1, in rack-1 with room for all, from the start.
//	advance 10s
//	    lets time pass, with all that happens meanwhile.
//	settle
//	    lets time pass until nothing is left to happen and nobody waits.
//	rest
//	    is settle, and checks what must hold at rest: the spec is reached, nothing
//	    is left over, and neither a minute, nor another look, nor a restart costs a
//	    write. Most files end with it.
//
// # Commands of the controller
//
//	lag pods
//	    the cache (sets, pods, services, revisions, nodes, budgets, podgroups, workloads; none named: all) takes nothing
//	    in by itself. lag pods off, lag off: it does again.
//	deliver pods writes=2 listed
//	    has a cache, or each, take in some writes or all; listed: at once, as a list
//	    that skips what was between.
//	restart behind=5
//	    kills the controller. The next one acts on caches that begin 5 writes ago,
//	    before they catch up.
//	fault crash-after at=(create pod) skip=1 times=1 behind=3
//	    a coming write goes wrong: crash-before, crash-after, unanswered (committed,
//	    but the answer is lost), conflict, too-many-requests, internal-error,
//	    timeout, unreachable. at names the request: create or delete pod or
//	    service, create revision, record teardown, patch status, mark leader, adopt
//	    or release pod, ... (reach.go of package sim); skip lets so many go well. A
//	    fault that never comes about fails the test.
//	pause, resume
//	    from here on nothing happens by itself: only what deliver, sync, nodes and
//	    advance say.
//	sync
//	    in a pause: has the controller sync the set if it is due; sync anyway: also
//	    if not.
//
// # Commands that show
//
//	show groups pods status services revisions budgets claims podgroups
//	    what there is: groups as the controller's debug page shows them, objects as
//	    the API server has them. Without arguments: groups.
//	journal 0
//	    what the controller remembers of a group.
//
// Each command is a function in a file of its name; play.go has the table of them,
// tell.go and status.go put into words what happens, options.go has the fields that
// apply and edit know.
package scenario
