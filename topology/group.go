package topology

import (
	"time"

	v1 "lws-controller/api/v1"
)

// Group names one group of one revision and builds its objects. It is cheap to
// make: nothing is copied until an object is built, and no input is changed.
type Group struct {
	// Set gives identity: name, namespace, UID and annotations. Of its spec only
	// scheduling is read, which is in no revision.
	Set *v1.LeaderWorkerSet
	// Template and Network are those of the group's own revision.
	Template *v1.LeaderWorkerTemplate
	Network  *v1.NetworkConfig
	// Revision is the key of that revision.
	Revision string
	// Index of the group, 0 for the first.
	Index int32
	// Incarnation counts how often the group was built; 0 marks adopted pods.
	Incarnation int64
	// RecycledAt is the time of the recycle request that the group is made after;
	// zero without one.
	RecycledAt time.Time
	// Domain are the node labels of the leader's node that the workers' nodes must have.
	Domain map[string]string
	// Avoids are the domains, as key=value, that the leader keeps away from.
	Avoids []string
	// Gang is the name of the PodGroup that the pods are scheduled by, with
	// v1.VolcanoGang before it if it is Volcano's; mostly empty.
	Gang string
}

// Size is the number of pods of the group, leader included; 1 when the template
// says nothing usable.
func (g *Group) Size() int32 {
	if g.Template == nil || g.Template.Size == nil || *g.Template.Size < 1 {
		return 1
	}
	return *g.Template.Size
}

// SubdomainPolicy is that of the group's revision, Shared by default.
func (g *Group) SubdomainPolicy() v1.SubdomainPolicy {
	if g.Network != nil && g.Network.SubdomainPolicy != nil &&
		*g.Network.SubdomainPolicy == v1.SubdomainUniquePerReplica {
		return v1.SubdomainUniquePerReplica
	}
	return v1.SubdomainShared
}

// LeaderName is the name of the group's leader pod.
func (g *Group) LeaderName() string { return LeaderName(g.Set.Name, g.Index) }

// PodName is the name of a pod of the group; worker 0 is the leader.
func (g *Group) PodName(worker int32) string { return PodName(g.Set.Name, g.Index, worker) }

// ServiceName is the name of the Service that the group's pods belong to.
func (g *Group) ServiceName() string {
	return ServiceName(g.Set.Name, g.Index, g.SubdomainPolicy())
}
