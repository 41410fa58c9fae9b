package rbac

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed cluster/role.yaml namespace/role.yaml lease/role.yaml fence/role.yaml nodes/role.yaml volcano/role.yaml volcano-namespaced/role.yaml
var files embed.FS

// Paths of the roles, for Granted.
const (
	ClusterRole   = "cluster/role.yaml"
	NamespaceRole = "namespace/role.yaml"
	LeaseRole     = "lease/role.yaml"
	FenceRole     = "fence/role.yaml"
	NodesRole     = "nodes/role.yaml"
	// VolcanoRole and VolcanoNamespaceRole are for those who run it with Volcano.
	VolcanoRole          = "volcano/role.yaml"
	VolcanoNamespaceRole = "volcano-namespaced/role.yaml"
)

// Permission is one verb on one resource. A subresource is part of the
// resource: "pods/status".
type Permission struct {
	Group, Resource, Verb string
}

// String is "verb resource.group/subresource".
func (p Permission) String() string {
	if p.Group == "" {
		return p.Verb + " " + p.Resource
	}
	resource, sub, _ := strings.Cut(p.Resource, "/")
	if sub != "" {
		sub = "/" + sub
	}
	return p.Verb + " " + resource + "." + p.Group + sub
}

// neverRequested are permissions that admission checks without any request for
// them ever being made. Audit logs cannot show their use.
var neverRequested = []Permission{
	// OwnerReferencesPermissionEnforcement asks for it when an object that names
	// a set with blockOwnerDeletion is created.
	{Group: "leaderworkerset.x-k8s.io", Resource: "leaderworkersets/finalizers", Verb: "update"},
}

// Granted lists what the given roles grant, sorted and without duplicates.
// Restrictions by resourceNames are not part of it.
func Granted(roles ...string) ([]Permission, error) {
	var all []Permission
	for _, path := range roles {
		data, err := files.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("role %s: %w", path, err)
		}
		// A Role and a ClusterRole have the same rules.
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(data, &role); err != nil {
			return nil, fmt.Errorf("role %s: %w", path, err)
		}
		for _, rule := range role.Rules {
			all = append(all, permissions(rule)...)
		}
	}
	return sorted(all), nil
}

func permissions(rule rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				all = append(all, Permission{Group: group, Resource: resource, Verb: verb})
			}
		}
	}
	return all
}

// Request is what a request needs, from the fields of an audit event's
// objectRef and its verb.
func Request(group, resource, subresource, verb string) Permission {
	if subresource != "" {
		resource += "/" + subresource
	}
	return Permission{Group: group, Resource: resource, Verb: verb}
}

// Compare returns what is granted and not used, and what is used and not
// granted. Permissions whose use no log can show are never called unused. (A
// watch is in the log only when it has ended: stop the controller first.)
func Compare(granted, used []Permission) (unused, missing []Permission) {
	for _, p := range granted {
		if !slices.Contains(used, p) && !slices.Contains(neverRequested, p) {
			unused = append(unused, p)
		}
	}
	for _, p := range used {
		if !slices.Contains(granted, p) {
			missing = append(missing, p)
		}
	}
	return unused, missing
}

func sorted(all []Permission) []Permission {
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(all)
}
