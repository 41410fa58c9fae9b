package topology

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// resourceTPU is the resource by which a container asks for TPU chips.
const resourceTPU corev1.ResourceName = "google.com/tpu"

// What the TPU runtime reads to find the other processes of its slice.
const (
	envTPUWorkerHostnames  = "TPU_WORKER_HOSTNAMES"
	envTPUWorkerID         = "TPU_WORKER_ID"
	envTPUName             = "TPU_NAME"
	envTPUProcessAddresses = "TPU_PROCESS_ADDRESSES"
	envTPUProcessPort      = "TPU_PROCESS_PORT"

	// tpuBasePort is the port of the first TPU container of a pod; the next
	// ones count up from it.
	tpuBasePort = 8476
)

// tpuProcess is one TPU container of one pod. The processes of a slice, in
// order, are the lists that the variables hold.
type tpuProcess struct {
	worker  int32 // the pod
	ordinal int32 // the container among the pod's TPU containers
	port    string
}

// tpuProcesses are the TPU containers of the pods that compute together with
// the given one: pods in order of index, so that the leader is first when it
// has TPUs, and each pod once per TPU container.
func (g *Group) tpuProcesses(worker int32) []tpuProcess {
	leaderPorts, workerPorts := tpuPorts(&g.podTemplate(0).Spec), tpuPorts(&g.podTemplate(1).Spec)
	var processes []tpuProcess
	for _, w := range g.peers(worker) {
		ports := workerPorts
		if w == 0 {
			ports = leaderPorts
		}
		for i, port := range ports {
			processes = append(processes, tpuProcess{worker: w, ordinal: int32(i), port: port})
		}
	}
	return processes
}

// addTPUEnv tells the TPU containers of a pod where the others are. It comes
// after the user's variables. A container that has its own list or id is left
// alone, though it keeps its place in the lists of the others. Its own port is
// kept and listed; a name or address list of its own gives way.
func (g *Group) addTPUEnv(spec *corev1.PodSpec, worker int32) {
	own := tpuContainers(spec)
	if len(own) == 0 {
		return
	}
	processes := g.tpuProcesses(worker)
	if len(processes) == 0 {
		return // an excluded leader is in no slice
	}
	hostnames := make([]string, len(processes))
	addresses := make([]string, len(processes))
	for i, p := range processes {
		hostnames[i] = g.PodName(p.worker) + "." + g.ServiceName()
		addresses[i] = hostnames[i] + ":" + p.port
	}
	for ordinal, c := range own {
		if findEnv(c.Env, envTPUWorkerHostnames) != nil || findEnv(c.Env, envTPUWorkerID) != nil {
			continue
		}
		id := slices.IndexFunc(processes, func(p tpuProcess) bool {
			return p.worker == worker && p.ordinal == int32(ordinal)
		})
		c.Env = append(dropEnv(c.Env, envTPUName, envTPUProcessAddresses),
			corev1.EnvVar{Name: envTPUWorkerHostnames, Value: strings.Join(hostnames, ",")},
			corev1.EnvVar{Name: envTPUWorkerID, Value: itoa(int32(id))},
			corev1.EnvVar{Name: envTPUName, Value: g.LeaderName()},
			corev1.EnvVar{Name: envTPUProcessAddresses, Value: strings.Join(addresses, ",")},
		)
		if findEnv(c.Env, envTPUProcessPort) == nil {
			c.Env = append(c.Env, corev1.EnvVar{Name: envTPUProcessPort, Value: processes[id].port})
		}
	}
}

// tpuPorts are the ports of the TPU containers of a pod: the container's own
// when it sets one as a plain value, else the next after the base port.
func tpuPorts(spec *corev1.PodSpec) []string {
	var ports []string
	for i, c := range tpuContainers(spec) {
		port := itoa(tpuBasePort + int32(i))
		if e := findEnv(c.Env, envTPUProcessPort); e != nil && e.ValueFrom == nil && e.Value != "" {
			port = e.Value
		}
		ports = append(ports, port)
	}
	return ports
}

// tpuContainers are the containers of a pod that ask for TPUs, regular ones
// first.
func tpuContainers(spec *corev1.PodSpec) []*corev1.Container {
	var found []*corev1.Container
	for c := range containers(spec) {
		limit, request := c.Resources.Limits[resourceTPU], c.Resources.Requests[resourceTPU]
		if !limit.IsZero() || !request.IsZero() {
			found = append(found, c)
		}
	}
	return found
}

func requestsTPUs(spec *corev1.PodSpec) bool { return len(tpuContainers(spec)) > 0 }
