package cluster

import (
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Component is one process of the control plane.
type Component string

// The components, in the order in which they start.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	Scheduler         Component = "kube-scheduler"
	ControllerManager Component = "kube-controller-manager"
	Kwok              Component = "kwok"
)

var components = []Component{Etcd, APIServer, Scheduler, ControllerManager, Kwok}

// Options of a cluster. The zero value is a good default.
type Options struct {
	// Nodes is the number of kwok nodes, named node-0, node-1, ...; 0 means 4, a
	// negative number none.
	Nodes int
	// Racks and Zones are the numbers of topology domains (0 means 2 and 1); they
	// become the node labels RackLabel (rack-0, ...) and
	// topology.kubernetes.io/zone (zone-0, ...). Neighbouring nodes share a rack,
	// neighbouring racks a zone.
	Racks, Zones int
	// NodeCapacity of each node; what it names replaces the default of
	// DefaultNodeCapacity.
	NodeCapacity corev1.ResourceList

	// NoGangScheduling turns the feature gates GenericWorkload and
	// TopologyAwareWorkloadScheduling off, and with them the API group
	// scheduling.k8s.io/v1beta1.
	NoGangScheduling bool
	// RaisedLimits lifts the request rates of scheduler and controller manager
	// (by default 50 and 20 requests a second), which otherwise are what a
	// benchmark measures.
	RaisedLimits bool
	// NoAudit turns the audit log off; Audit then fails.
	NoAudit bool
	// ExtraArgs are appended to the command lines, so they win over ours.
	ExtraArgs map[Component][]string

	// Stages are kwok Stage objects in YAML, one a string; one whose name is that
	// of a stage already there (pod-ready, pod-delete, ...) replaces it.
	Stages []string

	// KeepDir leaves the folder with logs and data behind on Stop, until another
	// cluster needs the place.
	KeepDir bool
	// Progress is told of a build of the programs and of components that end
	// unasked; nil means os.Stderr.
	Progress io.Writer
}

// RackLabel is the node label that names a node's rack.
const RackLabel = "rack"

// DefaultNodeCapacity is that of an accelerator machine.
func DefaultNodeCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("128"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
		"nvidia.com/gpu":                resource.MustParse("8"),
		"google.com/tpu":                resource.MustParse("4"),
	}
}

// complete fills in the defaults.
func (o Options) complete() (Options, error) {
	if o.Nodes == 0 {
		o.Nodes = 4
	}
	o.Nodes = max(o.Nodes, 0)
	if o.Racks == 0 {
		o.Racks = 2
	}
	if o.Zones == 0 {
		o.Zones = 1
	}
	if o.Racks < 0 || o.Zones < 0 {
		return o, fmt.Errorf("%d racks, %d zones: must not be negative", o.Racks, o.Zones)
	}
	capacity := DefaultNodeCapacity()
	for name, q := range o.NodeCapacity {
		capacity[name] = q
	}
	o.NodeCapacity = capacity
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	return o, nil
}
