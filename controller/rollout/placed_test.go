package rollout

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"lws-controller/controller/group"
)

// A new group of a placed set begins with its leader; the workers follow it to where it
// was put (CONTRACT §4), or the plan says why they cannot.
func TestWorkersFollow(t *testing.T) {
	there := group.Node{Ready: true}
	for name, tc := range map[string]struct {
		node     string
		nodes    map[string]group.Node
		labels   map[string]string
		selector map[string]string
		want     map[string]string // the domain of the workers that are created
		blocked  string
	}{
		"not bound":           {},
		"bound":               {node: "n", nodes: map[string]group.Node{"n": there}, labels: map[string]string{"rack": "r", "zone": ""}, want: map[string]string{"rack": "r", "zone": ""}},
		"the selector agrees": {node: "n", nodes: map[string]group.Node{"n": there}, labels: map[string]string{"rack": "r", "zone": "z"}, selector: map[string]string{"rack": "r", "other": "x"}, want: map[string]string{"rack": "r", "zone": "z"}},
		"it says otherwise":   {node: "n", nodes: map[string]group.Node{"n": there}, labels: map[string]string{"rack": "r", "zone": "z"}, selector: map[string]string{"zone": "y"}, blocked: "nodeSelector says zone=y"},
		"a label is missing":  {node: "n", nodes: map[string]group.Node{"n": there}, labels: map[string]string{"rack": "r"}, blocked: "has no label zone"},
		"the node is gone":    {node: "n", nodes: map[string]group.Node{"n": {Gone: true}}, blocked: "is gone"},
		"no rights on nodes":  {node: "n", blocked: "one namespace only"},
	} {
		t.Run(name, func(t *testing.T) {
			leader := made(0, "b", 2, "L+")
			leader.Leader.Node, leader.Leader.DomainKeys = tc.node, []string{"rack", "zone"}
			in := input(2, leader)
			in.Placed, in.Nodes, in.NodeLabels = true, tc.nodes, map[string]map[string]string{"n": tc.labels}
			b := in.Templates["b"]
			b.NodeSelector = tc.selector
			in.Templates["b"] = b
			plan := Make(in)
			var workers *Creation
			for i := range plan.Create {
				switch c := &plan.Create[i]; c.Index {
				case 0:
					workers = c
				default:
					if !slices.Equal(c.Workers, []int32{0}) || c.Domain != nil {
						t.Errorf("a new group begins with pods %v in %v, want its leader, anywhere", c.Workers, c.Domain)
					}
				}
			}
			switch {
			case tc.want == nil && workers != nil:
				t.Errorf("creates workers %v in %v", workers.Workers, workers.Domain)
			case tc.want != nil && (workers == nil || !slices.Equal(workers.Workers, []int32{1}) || !maps.Equal(workers.Domain, tc.want)):
				t.Errorf("creates %+v, want worker 1 in %v", workers, tc.want)
			}
			if why := len(plan.Blocked) > 0; why != (tc.blocked != "") || why && !strings.Contains(plan.Blocked[0].Why, tc.blocked) {
				t.Errorf("blocked: %v, want %q", plan.Blocked, tc.blocked)
			}
		})
	}
}
