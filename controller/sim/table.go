package sim

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lws-controller/informers"
)

// object is a pointer to an API object.
type object interface {
	comparable
	metav1.Object
}

// change is one committed write: what a name held before and after it.
type change[T object] struct {
	version       int64
	key           types.NamespacedName
	before, after T
}

// table holds the objects of one kind. What is in it is never changed, only
// replaced, so that the log can share it.
type table[T object] struct {
	kind     informers.Kind
	resource string
	items    map[types.NamespacedName]T
	log      []change[T]
}

func newTable[T object](kind informers.Kind, resource string) *table[T] {
	return &table[T]{kind: kind, resource: resource, items: map[types.NamespacedName]T{}}
}

// list returns the objects in the order of their names.
func (t *table[T]) list() []T {
	out := make([]T, 0, len(t.items))
	for _, o := range t.items {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// at returns the objects as they were after the first n writes.
func (t *table[T]) at(n int) map[types.NamespacedName]T {
	var none T
	out := map[types.NamespacedName]T{}
	for _, c := range t.log[:n] {
		if c.after == none {
			delete(out, c.key)
		} else {
			out[c.key] = c.after
		}
	}
	return out
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
