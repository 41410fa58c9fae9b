package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
)

// Caches are what is observed of the sets; see informers.Informers.
type Caches interface {
	HasSynced() bool
	Sets() []*v1.LeaderWorkerSet
	Set(key types.NamespacedName) (*v1.LeaderWorkerSet, bool)
	Revisions(set types.NamespacedName) []*appsv1.ControllerRevision
}

// Controller is what is known of groups; see controller.Controller.
type Controller interface {
	Glance(key types.NamespacedName, journals bool, until time.Time) (controller.DebugSet, bool)
	Fenced() string
}

// Pages answers requests for the status page.
type Pages struct {
	Caches     Caches
	Controller Controller
	// Leading says whether this replica leads, Leader which one does, as far as it
	// knows.
	Leading func() bool
	Leader  func() string
	// Now is the time; nil: the clock's.
	Now func() time.Time
}

// patience is how long a page waits for sets whose syncs wait for the API server: for
// all of them together.
const patience = 200 * time.Millisecond

// Register adds the addresses. They answer GET and HEAD, and other methods with 405.
func (p *Pages) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.fleet)
	mux.HandleFunc("GET /sets/{namespace}/{name}", p.set)
	mux.HandleFunc("GET /sets/{namespace}/{name}/{group}", p.group)
}

func (p *Pages) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// frame says what holds for all pages.
func (p *Pages) frame(title, root string) frame {
	f := frame{Title: title, Root: root, At: p.now(), Looks: looks}
	if !p.Caches.HasSynced() {
		f.Notices = append(f.Notices, "The caches of this replica are still being filled: what follows is incomplete.")
	}
	if !p.Leading() {
		who := "No other replica is known to lead"
		if leader := p.Leader(); leader != "" {
			who = "The leader is " + leader
		}
		f.Notices = append(f.Notices, "This replica does not lead, so it knows nothing of single groups: what follows is the stored status of the sets. "+who+".")
	}
	if why := p.Controller.Fenced(); why != "" {
		f.Notices = append(f.Notices, "Another controller of LeaderWorkerSets is at work, so nothing is written: "+why)
	}
	return f
}

func (p *Pages) fleet(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	v := fleetView{frame: p.frame("LeaderWorkerSets", "./")}
	v.Query = query
	sets := p.Caches.Sets()
	v.All = len(sets)
	sets = matching(sets, query)
	v.Matching, v.Counts = len(sets), counts(sets)
	from, to := part(r, fleetSets, len(sets))
	v.First, v.Last, v.Earlier, v.Later = from+1, to, other(query, from-fleetSets, len(sets)), other(query, to, len(sets))
	if from == 0 {
		v.Earlier = ""
	}
	until, left := time.Now().Add(patience), fleetCells
	for _, set := range sets[from:to] {
		key := types.NamespacedName{Namespace: set.Namespace, Name: set.Name}
		s := fleetSet{summary: summarise(set, namesOf(p.Caches.Revisions(key)), v.At)}
		if known, ok := p.Controller.Glance(key, false, until); ok {
			left -= s.show(&known, min(setCells, left))
		}
		v.Sets = append(v.Sets, s)
	}
	p.write(w, r, http.StatusOK, fleetPage, v)
}

func (p *Pages) set(w http.ResponseWriter, r *http.Request) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	set, exists := p.Caches.Set(key)
	if !exists {
		p.missing(w, r, "../../", "There is no set "+key.String()+".")
		return
	}
	v := setView{frame: p.frame(key.String(), "../../")}
	objects := p.Caches.Revisions(key)
	names := namesOf(objects)
	v.summary = summarise(set, names, v.At)
	v.Facts, v.Conditions = facts(set), conditions(set, v.At)
	known, ok := p.glance(&v.frame, key)
	v.Known = ok
	var groups []controller.DebugGroup
	if ok {
		_, v.AllGroups = window(&known, 0, 0)
		from, to := part(r, pageGroups, v.AllGroups)
		groups, _ = window(&known, from, to-from)
		v.First, v.Last, v.Earlier, v.Later = from, to-1, other("", from-pageGroups, v.AllGroups), other("", to, v.AllGroups)
		if from == 0 {
			v.Earlier = ""
		}
		for i := range groups {
			v.Cells = append(v.Cells, cellOf(&groups[i], &known))
		}
		v.Groups, v.Causes = rows(groups, set, names, v.At), causes(groups, v.At)
	}
	v.Revisions = revisions(objects, &set.Status, known.Groups, v.At)
	p.write(w, r, http.StatusOK, setPage, v)
}

func (p *Pages) group(w http.ResponseWriter, r *http.Request) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	set, exists := p.Caches.Set(key)
	if !exists {
		p.missing(w, r, "../../../", "There is no set "+key.String()+".")
		return
	}
	index, err := strconv.ParseInt(r.PathValue("group"), 10, 32)
	v := groupView{frame: p.frame(fmt.Sprintf("%s group %d", key, index), "../../../"), Namespace: key.Namespace, Name: key.Name}
	known, ok := p.glance(&v.frame, key)
	if !ok {
		known = controller.DebugSet{Replicas: replicasOf(set)}
	}
	g, exists := find(&known, int32(index))
	if err != nil || !exists {
		p.missing(w, r, "../../../", fmt.Sprintf("The set %s has no group %s.", key, r.PathValue("group")))
		return
	}
	names := namesOf(p.Caches.Revisions(key))
	v.Known, v.groupRow, v.Journal = ok, newRow(&g, known.Replicas, restartsOf(&set.Status)[g.Index], names, maxText, v.At), journal(&g, v.At)
	p.write(w, r, http.StatusOK, groupPage, v)
}

// glance is what is known of a set with its journals; a notice says why nothing is.
func (p *Pages) glance(f *frame, key types.NamespacedName) (controller.DebugSet, bool) {
	known, ok := p.Controller.Glance(key, true, time.Now().Add(patience))
	if !ok && p.Leading() {
		f.Notices = append(f.Notices, "The set is being synced, or its turn has not come yet: what follows is its stored status.")
	}
	return known, ok
}

// part is which part of so many is asked for, at most so many of them.
func part(r *http.Request, most, all int) (from, to int) {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 || from >= all {
		from = 0
	}
	return from, min(from+most, all)
}

// other is the address of another part, empty where nothing is.
func other(query string, from, all int) string {
	if from >= all {
		return ""
	}
	values := url.Values{"from": {strconv.Itoa(max(0, from))}}
	if query != "" {
		values.Set("q", query)
	}
	return "?" + values.Encode()
}

func (p *Pages) missing(w http.ResponseWriter, r *http.Request, root, what string) {
	f := p.frame("Not found", root)
	f.Notices = append(slices.Clip(f.Notices), what)
	p.write(w, r, http.StatusNotFound, missingPage, f)
}

// write sends a page whole or not at all.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, status int, page *template.Template, view any) {
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		klog.FromContext(r.Context()).Error(err, "The status page cannot be made", "path", r.URL.Path)
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
