package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// show shows what there is.
func show(p *play, a args) error {
	words := a.words()
	if len(words) == 0 {
		words = []string{"groups"}
	}
	for _, what := range words {
		switch what {
		case "groups":
			showGroups(p)
		case "pods":
			if len(p.script.Pods()) == 0 {
				p.line("there are no pods")
				continue
			}
			showPods(p)
		case "status":
			showStatus(p)
		case "services":
			for _, s := range p.script.Services() {
				p.line("service %s selects %s", s.Name, selects(s))
			}
		case "budgets":
			for _, b := range p.script.Budgets() {
				p.line("budget %s %s, %d may go", b.Name, protects(b), b.Status.DisruptionsAllowed)
			}
		case "claims":
			for _, c := range p.script.Claims() {
				owner := "nobody"
				if ref := metav1.GetControllerOfNoCopy(c); ref != nil {
					owner = ref.Kind + " " + ref.Name
				}
				p.line("claim %s %s of %s", c.Name, c.UID, owner)
			}
		case "podgroups":
			for _, g := range p.script.PodGroups() {
				least := "-"
				if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
					least = fmt.Sprint(gang.MinCount)
				}
				workload := "-"
				if g.Spec.WorkloadRef != nil {
					workload = g.Spec.WorkloadRef.WorkloadName
				}
				p.line("podgroup %s asks for %s, by workload %s", g.Name, least, workload)
			}
			for _, o := range p.script.Workloads() {
				p.line("workload %s", o.Name)
			}
		case "revisions":
			for _, r := range p.script.Revisions() {
				p.line("revision %s number %d", r.Name, r.Revision)
			}
		default:
			return fmt.Errorf("cannot show %s", what)
		}
	}
	return nil
}

// table adds lines in columns.
func (p *play) table(header string, rows func(row func(cells ...any))) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	rows(func(cells ...any) {
		out := make([]string, len(cells))
		for i, c := range cells {
			out[i] = p.named(fmt.Sprint(c))
		}
		fmt.Fprintln(w, strings.Join(out, "\t"))
	})
	w.Flush()
	for l := range strings.Lines(b.String()) {
		p.line("%s", strings.TrimRight(l, " \n"))
	}
}

// showGroups shows the groups as the controller sees them.
func showGroups(p *play) {
	for _, s := range p.script.Debug() {
		p.table("GROUP\tPHASE\tREVISION\tINCARNATION\tPODS\tTERMINATING\tWAITS FOR", func(row func(cells ...any)) {
			for _, g := range s.Groups {
				row(g.Index, g.Phase, cmp.Or(g.Revision, "-"), g.Incarnation, fmt.Sprintf("%d/%d", g.Pods, g.Size), g.Terminating, cmp.Or(g.WaitingFor, "-"))
			}
		})
	}
}

// showPods shows the pods that there are.
func showPods(p *play) {
	p.table("POD\tREVISION\tINCARNATION\tSTATE\tCONTROLLER", func(row func(cells ...any)) {
		for _, o := range p.script.Pods() {
			controller := "-"
			if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
				controller = ref.Name
			}
			row(o.Name, cmp.Or(o.Labels[v1.LabelRevision], "-"), cmp.Or(o.Annotations[v1.AnnotationIncarnation], "-"), state(o), controller)
		}
	})
}

func state(o *corev1.Pod) string {
	out := string(o.Status.Phase)
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			out = "Ready"
		}
	}
	if o.DeletionTimestamp != nil {
		out = "Terminating"
	}
	return out
}

func showStatus(p *play) {
	set := p.script.Set()
	if set == nil {
		p.line("there is no set")
		return
	}
	s := &set.Status
	p.line("generation %d, replicas %d, ready %d, updated %d, established %d, update %s, current %s",
		s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.EstablishedReplicas, s.UpdateRevision, s.CurrentRevision)
	for _, l := range slices.Concat(listChange("recycling", nil, recycling(s)), listChange("restarts", nil, restarts(s))) {
		p.line("  %s", l[1:])
	}
	for _, c := range s.Conditions {
		p.line("  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
}

func selects(s *corev1.Service) string {
	if len(s.Spec.Selector) == 0 {
		return "nothing"
	}
	var out []string
	for _, key := range []string{v1.LabelName, v1.LabelGroupIndex} {
		if value, ok := s.Spec.Selector[key]; ok {
			_, short, _ := strings.Cut(key, "/")
			out = append(out, short+"="+value)
		}
	}
	return strings.Join(out, ",")
}
