package rollout

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is what a rollout may use, in groups.
type Budget struct {
	// Unavailable is how many of the established groups may be missing.
	Unavailable int32
	// Surge is how many groups may exist above the number wanted.
	Surge int32
}

// NewBudget resolves a budget for a number of groups. maxUnavailable is rounded
// down and maxSurge up, as Deployments do. Where both come to 0, by whatever way,
// one group may be unavailable, since nothing could move otherwise. The surge is
// at most the number of groups, and where there is one, at least one group stays:
//
//	replicas 10, maxUnavailable 25%, maxSurge 25%  → Unavailable 2, Surge 3
//	replicas  2, maxUnavailable 30%, maxSurge 0    → Unavailable 1, Surge 0
//	replicas  1, maxUnavailable 1,   maxSurge 1    → Unavailable 0, Surge 1
//
// A value that cannot be read counts as 0: the API server refuses it, but one may
// have been stored before it did.
func NewBudget(replicas int32, maxUnavailable, maxSurge intstr.IntOrString) Budget {
	b := Budget{
		Unavailable: scaled(maxUnavailable, replicas, false),
		Surge:       min(scaled(maxSurge, replicas, true), replicas),
	}
	if b.Surge > 0 {
		b.Unavailable = min(b.Unavailable, replicas-1)
	} else if b.Unavailable == 0 {
		b.Unavailable = 1
	}
	return b
}

func scaled(v intstr.IntOrString, of int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, int(of), up)
	if err != nil {
		return 0
	}
	return int32(max(0, min(n, int(of))))
}
