package topology_test

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The twin says what a pod must look like a second time: from the sentences of CONTRACT
// alone, each beside the line that follows it, slowly, and with every key spelled out.
// It shares nothing with the package, and must not: not a constant, not a formula. Where
// the two differ CONTRACT decides. What CONTRACT is silent about is marked so.

// box is a container of a pod template.
type box struct {
	name string
	init bool
	tpu  string   // whether limits or requests name TPUs: "limit", "request", "zero", ""
	env  []string // the user's, as NAME=value
}

// template is a pod template.
type template struct {
	boxes               []box
	labels, annotations map[string]string
	finalizer           string
	selector            map[string]string
	awayFrom            string // a label key: a required anti-affinity that the user has on it
}

// row is one pod of one group of a set.
type row struct {
	namespace, set string
	annotations    map[string]string // of the set
	unique         bool              // a Service for each group
	size, per      int               // per: pods in a subgroup, 0 without subgroups
	excluded       bool              // LeaderExcluded
	leader         *template         // nil: the workers' serves both
	worker         template
	claim          string // a template of claims
	revision       string
	incarnation    int
	recycled       string
	domain         map[string]string // labels of the leader's node
	gang           bool              // scheduled as one
	group, pod     int
}

// expect is the whole row, a fact a line.
func (r *row) expect() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	say("name %s", r.name(r.pod))
	// §2: "`generateName` is `<lws>-` (leaders) and `<lws>-<g>-` (workers)".
	if r.pod == 0 {
		say("generateName %s-", r.set)
	} else {
		say("generateName %s-%d-", r.set, r.group)
	}
	say("namespace %s", r.namespace)
	// §2: "controllerRef = the LeaderWorkerSet", of leaders and workers.
	say("owner leaderworkerset.x-k8s.io/v1 LeaderWorkerSet %s, controller", r.set)
	// §2: "`spec.hostname` = pod name, `spec.subdomain` = service name".
	say("hostname %s", r.name(r.pod))
	say("subdomain %s", r.service())
	// §2: "Template labels, annotations and finalizers are copied to every pod".
	if f := r.template().finalizer; f != "" {
		say("finalizer %s", f)
	}
	out = append(out, list("label", r.labels())...)
	out = append(out, list("annotation", r.notes())...)
	out = append(out, r.placement()...)
	if r.gang {
		// §4: "one PodGroup `<lws>-<g>-<incarnation>` per group incarnation ... pods carry
		// `spec.schedulingGroup.podGroupName`".
		say("podGroup %s-%d-%d", r.set, r.group, r.incarnation)
	}
	if r.claim != "" { // §5: "Claims `<claim>-<pod>`"
		say("volume %s: claim %s-%s", r.claim, r.claim, r.name(r.pod))
	}
	for _, b := range inOrder(r.template().boxes) {
		kind := "env "
		if b.init {
			kind = "env init "
		}
		for _, e := range r.env(b) {
			out = append(out, kind+b.name+": "+e)
		}
	}
	return out
}

func list(kind string, of map[string]string) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		out = append(out, kind+" "+key+"="+of[key])
	}
	return out
}

// §2: "leader of group g: `<lws>-<g>`; worker w (1..size-1) of group g: `<lws>-<g>-<w>`".
func (r *row) name(pod int) string {
	leader := r.set + "-" + strconv.Itoa(r.group)
	if pod == 0 {
		return leader
	}
	return leader + "-" + strconv.Itoa(pod)
}

// §5: "`Shared`: one Service `<lws>` ... `UniquePerReplica`: one Service `<lws>-<g>`".
func (r *row) service() string {
	if r.unique {
		return fmt.Sprintf("%s-%d", r.set, r.group)
	}
	return r.set
}

// §1: leaderTemplate is "template for pod 0; absent: workerTemplate serves both".
func (r *row) template() template { return r.templateOf(r.pod) }

func (r *row) templateOf(pod int) template {
	if pod == 0 && r.leader != nil {
		return *r.leader
	}
	return r.worker
}

func hash(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) }

// The labels of §2, on top of the template's.
func (r *row) labels() map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, r.template().labels)
	labels["leaderworkerset.sigs.k8s.io/name"] = r.set
	labels["leaderworkerset.sigs.k8s.io/group-index"] = strconv.Itoa(r.group)
	labels["leaderworkerset.sigs.k8s.io/worker-index"] = strconv.Itoa(r.pod)
	// "SHA-1, lower-case hex, of `<namespace>/<leader pod name>`".
	labels["leaderworkerset.sigs.k8s.io/group-key"] = hash(r.namespace + "/" + r.name(0))
	labels["leaderworkerset.sigs.k8s.io/template-revision-hash"] = r.revision
	// "when subGroupPolicy is set (not the leader with LeaderExcluded)".
	if sub := r.subgroup(r.pod); sub >= 0 {
		labels["leaderworkerset.sigs.k8s.io/subgroup-index"] = strconv.Itoa(sub)
		// "SHA-1 hex of `<leader pod name>/<subgroup index>`".
		labels["leaderworkerset.sigs.k8s.io/subgroup-key"] = hash(r.name(0) + "/" + strconv.Itoa(sub))
	}
	// "`apps.kubernetes.io/pod-index` (leader: g, worker: w)".
	labels["apps.kubernetes.io/pod-index"] = strconv.Itoa(r.pod)
	if r.pod == 0 {
		labels["apps.kubernetes.io/pod-index"] = strconv.Itoa(r.group)
	}
	labels["statefulset.kubernetes.io/pod-name"] = r.name(r.pod)
	labels["controller-revision-hash"] = r.revision
	return labels
}

// The annotations of §2, on top of the template's.
func (r *row) notes() map[string]string {
	notes := map[string]string{}
	maps.Copy(notes, r.template().annotations)
	notes["leaderworkerset.sigs.k8s.io/size"] = strconv.Itoa(r.size)
	if r.pod > 0 { // "workers only"
		notes["leaderworkerset.sigs.k8s.io/leader-name"] = r.name(0)
		// "workers, if the leader requests TPUs".
		if slices.ContainsFunc(r.templateOf(0).boxes, box.wantsTPU) {
			notes["leaderworkerset.sigs.k8s.io/leader-requests-tpus"] = "true"
		}
	} else if r.unique { // "leader, with UniquePerReplica"
		notes["leaderworkerset.sigs.k8s.io/subdomainPolicy"] = "UniquePerReplica"
	}
	copied := []string{"leaderworkerset.sigs.k8s.io/exclusive-topology"} // "all, if the LWS has it"
	if r.per > 0 {                                                       // "all, if subgroups are used (the last if the LWS has it)"
		notes["leaderworkerset.sigs.k8s.io/subgroup-size"] = strconv.Itoa(r.per)
		notes["leaderworkerset.sigs.k8s.io/subgroup-policy-type"] = "LeaderWorker"
		if r.excluded {
			notes["leaderworkerset.sigs.k8s.io/subgroup-policy-type"] = "LeaderExcluded"
		}
		copied = append(copied, "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology")
	}
	// CONTRACT is silent: the controller finds out by it what a group was placed by.
	copied = append(copied, "topology.leaderworkerset.x-k8s.io/colocate")
	for _, key := range copied {
		if value, has := r.annotations[key]; has {
			notes[key] = value
		}
	}
	// Ours. §8: "their new pods carry `leaderworkerset.x-k8s.io/recycled-at`".
	notes["leaderworkerset.x-k8s.io/incarnation"] = strconv.Itoa(r.incarnation)
	if r.recycled != "" {
		notes["leaderworkerset.x-k8s.io/recycled-at"] = r.recycled
	}
	return notes
}

// subgroup is the index of a pod's subgroup, -1 for none. The pods are dealt out in order,
// per at a time, which is what the formula of §4 comes to.
func (r *row) subgroup(pod int) int {
	if r.per == 0 || pod == 0 && r.excluded { // §4: "the leader belongs to no subgroup"
		return -1
	}
	first := 0
	// "if (size-1) % subGroupSize == 0 and size % subGroupSize != 0 the leader is an extra
	// member of subgroup 0"; also "with LeaderExcluded ... the workers' formula is the same".
	if (r.size-1)%r.per == 0 && r.size%r.per != 0 {
		if pod == 0 {
			return 0
		}
		first = 1
	}
	sub, members := 0, 0
	for p := first; p < pod; p++ {
		if members++; members == r.per {
			sub, members = sub+1, 0
		}
	}
	return sub
}

// §4: what binds the pod to places.
func (r *row) placement() []string {
	selector := map[string]string{}
	maps.Copy(selector, r.template().selector)
	var terms []string
	if key := r.template().awayFrom; key != "" { // "added even if the user already has affinity on the same key"
		terms = append(terms, "apart "+key+": app In [x]")
	}
	// "The leader gets required pod affinity to its own `group-key` and required
	// anti-affinity to pods with any other `group-key` on that key; workers ... with a
	// nodeSelector".
	exclusive, has := r.annotations["leaderworkerset.sigs.k8s.io/exclusive-topology"]
	if has && r.pod == 0 {
		terms = append(terms, r.together(exclusive, "leaderworkerset.sigs.k8s.io/group-key"))
		terms = append(terms, r.apart(exclusive, "leaderworkerset.sigs.k8s.io/group-key")...)
	} else if has {
		selector[exclusive] = r.domain[exclusive]
	}
	// "a group stays inside one domain, domains are shared".
	colocate, has := r.annotations["topology.leaderworkerset.x-k8s.io/colocate"]
	if has && r.pod == 0 {
		terms = append(terms, r.together(colocate, "leaderworkerset.sigs.k8s.io/group-key"))
	} else if has {
		selector[colocate] = r.domain[colocate]
	}
	// "the same per subgroup with `subgroup-key` (affinity on every pod of the subgroup)".
	sub, has := r.annotations["leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"]
	if has && r.subgroup(r.pod) >= 0 {
		terms = append(terms, r.together(sub, "leaderworkerset.sigs.k8s.io/subgroup-key"))
		terms = append(terms, r.apart(sub, "leaderworkerset.sigs.k8s.io/subgroup-key")...)
	}
	slices.Sort(terms)
	return append(list("selector", selector), terms...)
}

func (r *row) together(key, label string) string {
	return fmt.Sprintf("together %s: %s In [%s]", key, label, r.labels()[label])
}

func (r *row) apart(key, label string) []string {
	others := []string{label + " Exists", label + " NotIn [" + r.labels()[label] + "]"}
	say := func(selector []string, namespaces string) string {
		slices.Sort(selector) // their order has no meaning
		return "apart " + key + ": " + strings.Join(selector, ", ") + namespaces
	}
	switch r.annotations["topology.leaderworkerset.x-k8s.io/exclusive-scope"] {
	case "Set": // "other LeaderWorkerSets don't count"
		return []string{say(append(others, "leaderworkerset.sigs.k8s.io/name In ["+r.set+"]"), "")}
	case "Cluster": // "all namespaces"
		all := []string{say(others, " in namespaces with anything")}
		if label == "leaderworkerset.sigs.k8s.io/subgroup-key" {
			// By §2 this key is the same in another namespace: it does not tell sets of
			// one name apart, so all there must be kept away.
			all = append(all, say([]string{label + " Exists"}, " in namespaces with kubernetes.io/metadata.name NotIn ["+r.namespace+"]"))
		}
		return all
	}
	return []string{say(others, "")} // "default; upstream's behaviour"
}

// inOrder has the regular containers first and then the init containers.
func inOrder(boxes []box) []box {
	out := slices.Clone(boxes)
	slices.SortStableFunc(out, func(a, b box) int { return cmp.Compare(b2i(a.init), b2i(b.init)) })
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// value is what a container's own environment has for a name; the last counts.
func (b box) value(name string) (value string, has bool) {
	for _, e := range b.env {
		if v, found := strings.CutPrefix(e, name+"="); found {
			value, has = v, true
		}
	}
	return value, has
}

// §2: "a container whose limits or requests name `google.com/tpu`". Silent: none of them
// is as good as no name.
func (b box) wantsTPU() bool { return b.tpu == "limit" || b.tpu == "request" }

// env is the whole environment of a container, in order.
func (r *row) env(b box) []string {
	// §2: "placed first ... `LWS_LEADER_ADDRESS` = `<lws>-<g>.<subdomain>.<namespace>`, then
	// `LWS_GROUP_SIZE`, then `LWS_WORKER_INDEX`".
	env := []string{
		"LWS_LEADER_ADDRESS=" + r.name(0) + "." + r.service() + "." + r.namespace,
		"LWS_GROUP_SIZE=" + strconv.Itoa(r.size),
		"LWS_WORKER_INDEX=" + strconv.Itoa(r.pod),
	}
	gives := []string{"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"}
	added := r.tpuEnv(b)
	if len(added) > 0 { // silent: as with the three above
		gives = append(gives, "TPU_NAME", "TPU_PROCESS_ADDRESSES")
	}
	for _, e := range b.env { // "a user's variable of the same name gives way"
		if name, _, _ := strings.Cut(e, "="); !slices.Contains(gives, name) {
			env = append(env, e)
		}
	}
	return append(env, added...) // "appended after the user's env"
}

// tpuEnv is what a container gets because of TPUs.
func (r *row) tpuEnv(b box) []string {
	_, hosts := b.value("TPU_WORKER_HOSTNAMES")
	_, id := b.value("TPU_WORKER_ID")
	if !b.wantsTPU() || hosts || id { // "nothing is added when ... is already there"
		return nil
	}
	if r.per > 0 && r.excluded && r.pod == 0 { // "with LeaderExcluded the leader gets none"
		return nil
	}
	var names, addresses []string
	position, port := -1, ""
	for p := range r.size { // "leader first when it requests TPUs"
		if r.per > 0 && r.subgroup(p) != r.subgroup(r.pod) { // "the pod's own subgroup only"
			continue
		}
		ordinal := 0
		for _, c := range inOrder(r.templateOf(p).boxes) { // "regular containers first, then init containers"
			if !c.wantsTPU() {
				continue
			}
			// "the container's own value if it sets one, else 8476 + the container's ordinal
			// among the pod's TPU containers".
			at, own := c.value("TPU_PROCESS_PORT")
			if !own {
				at = strconv.Itoa(8476 + ordinal)
			}
			ordinal++
			if p == r.pod && c.name == b.name { // "position of this container in that list"
				position, port = len(names), at
			}
			// "`<host>.<subdomain>` ... each pod repeated once per TPU container of that pod".
			names = append(names, r.name(p)+"."+r.service())
			addresses = append(addresses, r.name(p)+"."+r.service()+":"+at)
		}
	}
	env := []string{
		"TPU_WORKER_HOSTNAMES=" + strings.Join(names, ","),
		"TPU_WORKER_ID=" + strconv.Itoa(position),
		"TPU_NAME=" + r.name(0), // "leader pod name"
		"TPU_PROCESS_ADDRESSES=" + strings.Join(addresses, ","),
	}
	if _, own := b.value("TPU_PROCESS_PORT"); !own {
		env = append(env, "TPU_PROCESS_PORT="+port)
	}
	return env
}
