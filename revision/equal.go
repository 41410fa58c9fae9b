package revision

import (
	"k8s.io/apimachinery/pkg/api/equality"
)

// Equal says whether two contents mean the same: groups made from either would
// be the same. Their bytes may differ, since versions of the API write the same
// spec differently (creationTimestamp null or absent, a field defaulted that was
// absent before, an amount spelled in another unit), and a difference that
// means nothing must not restart anybody's pods.
//
// Both sides are brought to one spelling (see canonical), then compared with
// the equality of the API machinery: amounts by value, an absent map or list
// the same as an empty one. What is present but empty otherwise differs from
// what is absent: an empty label selector selects all, no selector none.
//
// A field that this version of the controller does not know was dropped by
// Parse, so it makes no difference: this version could not act on it either.
func Equal(a, b *Content) bool {
	return equality.Semantic.DeepEqual(canonical(a), canonical(b))
}
