package sim

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/informers"
)

// feed is one informer: a cache that follows a table at its own pace, and the
// production handler that is told of what it notices.
type feed[T object] struct {
	table   *table[T]
	handler cache.TypedResourceEventHandler[T]
	// labelled: only objects with the set's label are watched.
	labelled bool
	// pos is how many writes of the table it has taken in, version up to where.
	pos     int
	version int64
	items   map[types.NamespacedName]T
}

// newFeed lists the table as it was some writes ago, and tells the handler.
func newFeed[T object](t *table[T], labelled bool, behind int, handler cache.TypedResourceEventHandler[T]) *feed[T] {
	f := &feed[T]{table: t, labelled: labelled, handler: handler, items: map[types.NamespacedName]T{}}
	f.pos = max(0, len(t.log)-behind)
	if f.pos > 0 {
		f.version = t.log[f.pos-1].version
	}
	past := t.at(f.pos)
	for key, o := range past {
		if o, visible := f.visible(o); visible {
			f.items[key] = o
		}
	}
	return f
}

// announce tells the handler of what the first list held.
func (f *feed[T]) announce() {
	for _, key := range f.keys() {
		f.handler.OnAdd(f.items[key], true)
	}
}

func (f *feed[T]) keys() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(f.items))
	for key := range f.items {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// visible is the trimmed copy of an object that the cache keeps, if it does.
func (f *feed[T]) visible(o T) (T, bool) {
	var none T
	if o == none || f.labelled && o.GetLabels()[v1.LabelName] == "" {
		return none, false
	}
	trimmed, err := informers.Trim(clone(o))
	if err != nil {
		panic(err)
	}
	return trimmed.(T), true
}

// lag is how many writes the cache has yet to see.
func (f *feed[T]) lag() int { return len(f.table.log) - f.pos }

// deliver takes in the next n writes, at least one of which must be there. More
// than one at a time are taken as a list: states in between are skipped, and what
// was deleted is only found to be missing.
func (f *feed[T]) deliver(n int) {
	news := f.table.log[f.pos : f.pos+n]
	f.pos += n
	f.version = news[n-1].version
	last := map[types.NamespacedName]change[T]{}
	var order []types.NamespacedName
	for _, c := range news {
		if _, seen := last[c.key]; !seen {
			order = append(order, c.key)
		}
		last[c.key] = c
	}
	for _, key := range order {
		f.take(last[key], n > 1)
	}
}

// take brings one name up to date.
func (f *feed[T]) take(c change[T], listed bool) {
	before, known := f.items[c.key]
	after, exists := f.visible(c.after)
	switch {
	case exists && known:
		f.items[c.key] = after
		f.handler.OnUpdate(before, after)
	case exists:
		f.items[c.key] = after
		f.handler.OnAdd(after, false)
	case known && listed:
		delete(f.items, c.key)
		f.handler.OnDelete(cache.DeletedObject[T]{OptionalObj: before,
			FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: c.key.String(), Obj: before}})
	case known:
		delete(f.items, c.key)
		// A watch shows the last state, at the version of the deletion.
		final, _ := f.visible(c.before)
		final.SetResourceVersion(strconv.FormatInt(c.version, 10))
		f.handler.OnDelete(cache.DeletedObject[T]{OptionalObj: final})
	}
}

// passed says that the cache has seen everything up to a version.
func (f *feed[T]) passed(version string) bool {
	at := "" // what an informer says before its first list
	if f.version > 0 {
		at = strconv.FormatInt(f.version, 10)
	}
	return group.Reached(at, version)
}

// ofSet are the cached objects with the set's label.
func (f *feed[T]) ofSet(set types.NamespacedName) []T {
	var out []T
	for _, key := range f.keys() {
		if o := f.items[key]; key.Namespace == set.Namespace && o.GetLabels()[v1.LabelName] == set.Name {
			out = append(out, o)
		}
	}
	return out
}

func compareKeys(a, b types.NamespacedName) int {
	switch {
	case a.String() < b.String():
		return -1
	case a.String() > b.String():
		return 1
	}
	return 0
}
