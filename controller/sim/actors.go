package sim

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "lws-controller/api/v1"
)

// insisted are the actors that every run has, whatever chance says.
var insisted []string

// Insist has every run from here on have some actors, given as a list with
// commas; see drawActors.
func Insist(on string) {
	if on != "" {
		insisted = strings.Split(on, ",")
	}
}

// actorOptions are the options of the actors besides user, monkey and crashes.
type actorOptions struct {
	// slow: kubelets let some pods use up their grace period.
	slow bool
	// nodes is how many small nodes there are, with room for so many pods each; 0:
	// there is a large one.
	nodes, room int
	// second is the name of another set, empty for none.
	second string
}

// seconds are names of a second set. The pods of all but the last share names
// with those of a set `a`: a-1-2 is worker 2 of its group 1, and leader of group 2
// of a-1.
var seconds = []string{"a-0", "a-1", "b"}

// drawActors draws which actors there are besides those that most runs have.
func (w *World) drawActors(o *options) {
	has := func(name string, n int) bool {
		drawn := w.rng.IntN(n) == 0
		return drawn || slices.Contains(insisted, name)
	}
	o.slow = has("slow", 3)
	if has("nodes", 5) {
		o.nodes, o.room = 2+w.rng.IntN(3), 1+w.rng.IntN(6)
	}
	if has("two sets", 5) {
		o.second = seconds[w.rng.IntN(len(seconds))]
	}
	for _, actor := range []string{"machines", "namespace", "autoscaler", "finalizers"} {
		if has(actor, 5) {
			o.weights[actor] = 1
		}
	}
	// Drawn aside: the worlds without it stay what they are.
	if w.aside.IntN(5) == 0 || slices.Contains(insisted, "evictions") {
		o.weights["evictions"], o.weights["budgets"] = 2, 4
	}
}

// begin makes the nodes and the sets of a run.
func (w *World) begin() {
	for i := range w.options.nodes {
		w.addNode([]string{"rack-1", "rack-2"}[i%2], w.options.room)
	}
	if w.options.nodes > 0 {
		w.deleteNode(w.nodeList()[0])
	}
	set := w.drawSet()
	if w.options.nodes == 0 && w.aside.IntN(6) == 0 {
		// Where each rack has room for all, so that none of them waits for ever.
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, v1.AnnotationColocate, "rack")
		w.covered["groups in racks"]++
	}
	if w.aside.IntN(6) == 0 && set.Annotations[v1.AnnotationColocate] == "" {
		gangs(gang)(set)
		w.covered["gangs"]++
	} else if w.aside.IntN(6) == 0 || slices.Contains(insisted, "volcano") {
		placedByVolcano(true)(set)
		w.covered["gangs of Volcano"]++
	}
	w.Apply(set)
	if w.options.weights["evictions"] > 0 {
		w.addNode("rack-1", plenty)
		w.addNode("rack-2", plenty)
		w.Annotate(v1.AnnotationDisruptionBudget, "1")
	}
	if w.options.second != "" {
		w.at = types.NamespacedName{Namespace: theKey.Namespace, Name: w.options.second}
		w.keys = append(w.keys, w.at)
		w.covered["second set "+w.at.Name]++
		w.Apply(w.drawSet())
	}
}

// mend undoes what does not mend itself: nodes come back, there is room for all,
// and other parties lift their finalizers.
func (w *World) mend() {
	if w.options.nodes > 0 || w.options.weights["machines"] > 0 {
		w.mendNodes()
	}
	w.liftFinalizers()
	w.endDrain()
	w.rival(false)
}

// lastWishes has the user change most sets to something that can be had.
func (w *World) lastWishes() {
	for _, w.at = range w.keys {
		if s, exists := w.server.sets.items[w.at]; exists && s.DeletionTimestamp == nil && w.rng.IntN(4) > 0 {
			w.Edit("the last wish", func(s *v1.LeaderWorkerSet) {
				image("v1")(s)
				budget(1, w.rng.Int32N(2), 0)(s)
			})
		}
	}
}
