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
	unused, missing := Compare(granted(t, ClusterRole), granted(t, NamespaceRole))
	if len(unused) > 0 || len(missing) > 0 {
		t.Errorf("only in the cluster role: %v; only in the namespace role: %v", unused, missing)
	}
}

func TestNoWildcards(t *testing.T) {
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole) {
		if strings.Contains(p.Group+p.Resource+p.Verb, "*") {
			t.Errorf("wildcard: %s", p)
		}
	}
}

// What cannot be taken back by deleting the controller must not be in its
// reach: no rights on secrets, on roles, on nodes, nor on who it acts as.
func TestNothingDangerous(t *testing.T) {
	forbidden := []string{"secrets", "configmaps", "serviceaccounts", "pods/exec", "pods/attach", "pods/portforward", "nodes/proxy"}
	groups := []string{"rbac.authorization.k8s.io", "authentication.k8s.io", "certificates.k8s.io", "admissionregistration.k8s.io"}
	for _, p := range granted(t, ClusterRole, NamespaceRole, LeaseRole) {
		if slices.Contains(forbidden, p.Resource) || slices.Contains(groups, p.Group) || slices.Contains([]string{"escalate", "bind", "impersonate", "deletecollection"}, p.Verb) {
			t.Errorf("the controller must not hold: %s", p)
		}
	}
}

func TestUsedReadsAuditLog(t *testing.T) {
	log := strings.Join([]string{
		`{"kind":"Event","stage":"ResponseComplete","verb":"create","userAgent":"lws-controller/v0.1.0","objectRef":{"resource":"pods","namespace":"d","apiVersion":"v1"}}`,
		`{"verb":"create","userAgent":"lws-controller/v0.1.0","objectRef":{"resource":"pods"}}`,
		`{"verb":"patch","userAgent":"lws-controller/v0.1.0","objectRef":{"resource":"leaderworkersets","apiGroup":"leaderworkerset.x-k8s.io","subresource":"status"}}`,
		`{"verb":"delete","userAgent":"kubectl/v1.37.2","objectRef":{"resource":"nodes"}}`,
		`{"verb":"get","userAgent":"lws-controller/v0.1.0","requestURI":"/version"}`,
	}, "\n")
	used, err := Used(strings.NewReader(log), "lws-controller/")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(used), "[create pods patch leaderworkersets.leaderworkerset.x-k8s.io/status]"; got != want {
		t.Errorf("used: got %s, want %s", got, want)
	}
}

func TestUsedNamesBrokenLine(t *testing.T) {
	_, err := Used(strings.NewReader("{}\n{\"verb\":"), "lws-controller/")
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got error %v, want one that names line 2", err)
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
