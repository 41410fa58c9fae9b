package rbac

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func granted(t *testing.T, roles ...string) []Permission {
	t.Helper()
	all, err := Granted(roles...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The namespaced variant differs in its reach, not in its verbs.
func TestNamespaceRoleGrantsTheSameAsClusterRole(t *testing.T) {
	for cluster, namespace := range map[string]string{ClusterRole: NamespaceRole, VolcanoRole: VolcanoNamespaceRole} {
		unused, missing := Compare(granted(t, cluster), granted(t, namespace))
		if len(unused) > 0 || len(missing) > 0 {
			t.Errorf("only in %s: %v; only in %s: %v", cluster, unused, namespace, missing)
		}
	}
}

// Who does not use Volcano grants nothing of it, and who does grants no more.
func TestVolcanoIsOptional(t *testing.T) {
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole, FenceRole, NodesRole) {
		if strings.Contains(p.Group, "volcano") {
			t.Errorf("granted to all: %s", p)
		}
	}
	for _, p := range granted(t, VolcanoRole) {
		if p.Group != "scheduling.volcano.sh" || p.Resource != "podgroups" {
			t.Errorf("granted besides: %s", p)
		}
	}
}

func TestNoWildcards(t *testing.T) {
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole, NodesRole, VolcanoRole) {
		if strings.Contains(p.Group+p.Resource+p.Verb, "*") {
			t.Errorf("wildcard: %s", p)
		}
	}
}

// What cannot be taken back by deleting the controller must not be in its
// reach: no rights on secrets, on roles, nor on who it acts as, and of nodes only a look.
func TestNothingDangerous(t *testing.T) {
	forbidden := []string{"secrets", "configmaps", "serviceaccounts", "pods/exec", "pods/attach", "pods/portforward", "nodes/proxy"}
	groups := []string{"rbac.authorization.k8s.io", "authentication.k8s.io", "certificates.k8s.io", "admissionregistration.k8s.io"}
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole, NodesRole) {
		if slices.Contains(forbidden, p.Resource) || slices.Contains(groups, p.Group) || slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection"}, p.Verb) {
			t.Errorf("the controller must not hold: %s", p)
		}
	}
}

// The fence looks at what decides over admission, and must not touch it.
func TestFenceOnlyReads(t *testing.T) {
	for _, p := range granted(t, FenceRole) {
		if p.Verb != "list" && p.Verb != "watch" {
			t.Errorf("more than reading: %s", p)
		}
	}
}

// Nodes belong to the whole cluster. That is also why they are in a role of their own.
func TestNodesAreOnlyRead(t *testing.T) {
	if got := fmt.Sprint(granted(t, NodesRole)); got != "[get nodes list nodes watch nodes]" {
		t.Errorf("granted is %s", got)
	}
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole, FenceRole) {
		if p.Resource == "nodes" {
			t.Errorf("granted elsewhere too: %s", p)
		}
	}
}

func TestRequestNamesSubresource(t *testing.T) {
	for want, got := range map[string]Permission{
		"create pods": Request("", "pods", "", "create"),
		"patch leaderworkersets.leaderworkerset.x-k8s.io/status": Request("leaderworkerset.x-k8s.io", "leaderworkersets", "status", "patch"),
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	pods := func(verb string) Permission { return Permission{Resource: "pods", Verb: verb} }
	finalizers := neverRequested[0]
	tests := map[string]struct {
		granted, used   []Permission
		unused, missing string
	}{
		"alike":               {[]Permission{pods("get")}, []Permission{pods("get")}, "[]", "[]"},
		"granted, not used":   {[]Permission{pods("get"), pods("list")}, []Permission{pods("get")}, "[list pods]", "[]"},
		"used, not granted":   {[]Permission{pods("get")}, []Permission{pods("get"), pods("delete")}, "[]", "[delete pods]"},
		"subresource is more": {[]Permission{pods("patch")}, []Permission{{Resource: "pods/status", Verb: "patch"}}, "[patch pods]", "[patch pods/status]"},
		"never requested":     {[]Permission{finalizers}, nil, "[]", "[]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unused, missing := Compare(test.granted, test.used)
			if fmt.Sprint(unused) != test.unused || fmt.Sprint(missing) != test.missing {
				t.Errorf("got unused %v, missing %v; want %s, %s", unused, missing, test.unused, test.missing)
			}
		})
	}
}
