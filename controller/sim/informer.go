package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	v1 "lws-controller/api/v1"
	"lws-controller/controller/group"
	"lws-controller/informers"
)

// feed is one informer: a cache that follows a table at its own pace, and the
// production handler that is told of what it notices. It does what a reflector of
// client-go does: watch, and when a watch has ended list anew, from any API
// server, but nothing older than it has seen ("not older than" the version that it
// asks for; a server that is behind refuses). Only a new process may begin in the
// past.
type feed[T object] struct {
	table   *table[T]
	handler cache.TypedResourceEventHandler[T]
	// labelled: only objects with the set's label are watched.
	labelled bool
	// pos is how many writes of the table it has taken in, version up to where it
	// knows that: a write of an object that is not watched is only known to have
	// passed from what comes later, or from a bookmark.
	pos     int
	version int64
	// marked is when the last bookmark came.
	marked time.Time
	items  map[types.NamespacedName]T
}

// newFeed lists the table as it was some writes ago, and tells the handler.
func newFeed[T object](t *table[T], labelled bool, behind int, handler cache.TypedResourceEventHandler[T]) *feed[T] {
	f := &feed[T]{table: t, labelled: labelled, handler: handler, items: map[types.NamespacedName]T{}}
	f.pos = max(0, len(t.log)-behind)
	f.version = f.reached()
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

func (f *feed[T]) keys() []types.NamespacedName { return sortedKeys(f.items) }

func sortedKeys[T any](items map[types.NamespacedName]T) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(items), compareKeys)
}

func (f *feed[T]) kind() informers.Kind { return f.table.kind }

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

// deliver takes in the next write, as a watch does, if there is one.
func (f *feed[T]) deliver() bool {
	if f.lag() == 0 {
		return false
	}
	c := f.table.log[f.pos]
	f.pos++
	_, known := f.items[c.key]
	after, exists := f.visible(c.after)
	if known || exists {
		f.version = c.version
	}
	switch {
	case exists:
		f.take(c.key, after)
	case known:
		delete(f.items, c.key)
		// A watch shows the last state, at the version of the deletion.
		final, _ := f.visible(c.before)
		final.SetResourceVersion(strconv.FormatInt(c.version, 10))
		f.handler.OnDelete(cache.DeletedObject[T]{OptionalObj: final})
	}
	return true
}

// take puts an object into the cache.
func (f *feed[T]) take(key types.NamespacedName, after T) {
	before, known := f.items[key]
	f.items[key] = after
	switch {
	case !known:
		f.handler.OnAdd(after, false)
	case before.GetResourceVersion() != after.GetResourceVersion():
		f.handler.OnUpdate(before, after)
	}
}

// relist takes in the next n writes as a list: states in between are skipped, what
// was deleted is only found to be missing, and a name that was deleted and created
// again has merely changed.
func (f *feed[T]) relist(n int) {
	f.pos += n
	now := map[types.NamespacedName]T{}
	for key, o := range f.table.at(f.pos) {
		if o, visible := f.visible(o); visible {
			now[key] = o
		}
	}
	for _, key := range f.keys() {
		if _, exists := now[key]; !exists {
			before := f.items[key]
			delete(f.items, key)
			f.handler.OnDelete(cache.DeletedObject[T]{OptionalObj: before,
				FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: key.String(), Obj: before}})
		}
	}
	for _, key := range sortedKeys(now) {
		f.take(key, now[key])
	}
	f.version = max(f.version, f.reached())
}

// reached is the version of the last write that was taken in.
func (f *feed[T]) reached() int64 {
	if f.pos == 0 {
		return 0
	}
	return f.table.log[f.pos-1].version
}

// bookmark moves the version on without an object, to just before the next write
// or, where there is none, to that of the whole API server.
func (f *feed[T]) bookmark(now time.Time, server int64) {
	f.marked, f.version = now, server
	if f.lag() > 0 {
		f.version = f.table.log[f.pos].version - 1
	}
}

// bookmarkEvery is how often a bookmark comes at least: that of an API server.
const bookmarkEvery = time.Minute

// bookmarkDue says that a bookmark comes now, if nothing else does.
func (f *feed[T]) bookmarkDue(now time.Time) bool { return now.Sub(f.marked) >= bookmarkEvery }

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
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
