package deploy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	v1 "lws-controller/api/v1"
)

// notApplied are the folders whose files are never applied as they are.
var notApplied = map[string]string{
	"argocd":           "merged into a ConfigMap that Argo CD has",
	"monitoring/plain": "read by a Prometheus as files",
}

// notInstalled are the folders that `kubectl apply -k deploy` leaves alone.
var notInstalled = map[string]string{
	"samples":                 "sets to try, not the controller",
	"namespaced":              "the other way to install it",
	"rbac/namespace":          "rights for that other way",
	"monitoring":              "needs the Prometheus operator",
	"monitoring/dashboards":   "needs Grafana",
	"rbac/volcano":            "rights for those who run it with Volcano",
	"rbac/volcano-namespaced": "the same, for one namespace",
}

// A file that no kustomization lists is never applied, and nobody notices.
func TestEveryFileIsListed(t *testing.T) {
	for folder, files := range yamlFiles(t) {
		if notApplied[folder] != "" {
			continue
		}
		if !slices.Contains(files, kustomizationFile) {
			t.Errorf("%s has YAML files but no %s", folder, kustomizationFile)
			continue
		}
		listed := readKustomization(t, folder).Resources
		for _, file := range files {
			if file != kustomizationFile && !slices.Contains(listed, file) {
				t.Errorf("%s does not list %s", filepath.Join(folder, kustomizationFile), file)
			}
		}
	}
}

func TestEveryFolderIsInstalled(t *testing.T) {
	installed := map[string]bool{}
	for _, m := range load(t, ".") {
		installed[filepath.Dir(m.path)] = true
	}
	for folder, files := range yamlFiles(t) {
		if _, left := notInstalled[folder]; left || notApplied[folder] != "" || len(files) == 1 || installed[folder] {
			continue
		}
		t.Errorf("kubectl apply -k deploy does not apply %s", folder)
	}
}

// clusterScoped are the kinds that live outside namespaces and that a manifest
// here may have. Namespaced kinds are listed too, so that a new kind is a
// decision and not an oversight.
var clusterScoped = map[string]bool{
	"ClusterRole":                      true,
	"ClusterRoleBinding":               true,
	"CustomResourceDefinition":         true,
	"FlowSchema":                       true,
	"PriorityLevelConfiguration":       true,
	"ValidatingAdmissionPolicy":        true,
	"ValidatingAdmissionPolicyBinding": true,

	"Deployment":          false,
	"PodDisruptionBudget": false,
	"PrometheusRule":      false,
	"Role":                false,
	"RoleBinding":         false,
	"Service":             false,
	"ServiceAccount":      false,
	"ServiceMonitor":      false,
}

// publishedNames are the cluster-scoped names of the published controller, from
// its manifests and, with the release name "lws", its chart. An object of ours
// with one of them would overwrite theirs, and removing one controller would
// take objects of the other.
var publishedNames = []string{
	"lws-disaggregatedset-admin-role",
	"lws-disaggregatedset-editor-role",
	"lws-disaggregatedset-viewer-role",
	"lws-leaderworkerset-editor-role",
	"lws-leaderworkerset-viewer-role",
	"lws-manager-role",
	"lws-manager-rolebinding",
	"lws-metrics-reader",
	"lws-metrics-reader-rolebinding",
	"lws-mutating-webhook-configuration",
	"lws-proxy-role",
	"lws-proxy-rolebinding",
	"lws-system",
	"lws-validating-webhook-configuration",
	"lws-volcano-role",
	"lws-volcano-rolebinding",
}

func TestClusterScopedNamesAreOurs(t *testing.T) {
	const prefix = "lws-controller"
	for _, m := range load(t, ".") {
		scoped, known := clusterScoped[m.Kind]
		if !known {
			t.Errorf("%s: kind %s is not in the table of kinds", m.path, m.Kind)
		}
		// The CRD is shared on purpose: its name is the API's.
		if !scoped || m.Kind == "CustomResourceDefinition" {
			continue
		}
		if m.Metadata.Namespace != "" {
			t.Errorf("%s: %s is cluster-scoped and has a namespace", m.path, m.Kind)
		}
		name := m.Metadata.Name
		if name != prefix && !strings.HasPrefix(name, prefix+"-") {
			t.Errorf("%s: name %s does not start with %s", m.path, name, prefix)
		}
		for _, published := range publishedNames {
			// Their chart puts the name of the release first, which may be ours: so
			// it is the ending that must differ.
			if suffix := strings.TrimPrefix(published, "lws-"); strings.HasSuffix(name, "-"+suffix) {
				t.Errorf("%s: name %s may collide with the published %s", m.path, name, published)
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, m := range load(t, ".") {
		key := m.Kind + " " + m.Metadata.Namespace + "/" + m.Metadata.Name
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s both define %s", other, m.path, key)
		}
		seen[key] = m.path
	}
}

func TestNamespacedObjectsGoToKubeSystem(t *testing.T) {
	for _, m := range load(t, ".") {
		if scoped, known := clusterScoped[m.Kind]; known && !scoped && m.Metadata.Namespace != "kube-system" {
			t.Errorf("%s: namespace %q, want kube-system", m.path, m.Metadata.Namespace)
		}
	}
	if got := readKustomization(t, ".").Namespace; got != "kube-system" {
		t.Errorf("kustomization: namespace %q, want kube-system", got)
	}
}

// The variant for one namespace must need no right on the cluster.
func TestNamespacedVariantHasNothingClusterScoped(t *testing.T) {
	for _, m := range load(t, "namespaced") {
		if scoped, known := clusterScoped[m.Kind]; scoped || !known {
			t.Errorf("namespaced: %s has kind %s", m.path, m.Kind)
		}
	}
}

// A binding or a flow schema that names another account grants nothing to the
// controller, and something to somebody else.
func TestSubjectsNameTheServiceAccount(t *testing.T) {
	for _, folder := range []string{".", "namespaced"} {
		manifests := load(t, folder)
		account := one[corev1.ServiceAccount](t, manifests, "ServiceAccount")
		deployment := one[appsv1.Deployment](t, manifests, "Deployment")
		if got := deployment.Spec.Template.Spec.ServiceAccountName; got != account.Name {
			t.Errorf("deployment runs as %s, want %s", got, account.Name)
		}
		roles := map[string]bool{}
		for _, m := range manifests {
			if m.Kind == "Role" || m.Kind == "ClusterRole" {
				roles[m.Kind+"/"+m.Metadata.Name] = true
			}
		}
		for _, m := range manifests {
			if m.Kind != "RoleBinding" && m.Kind != "ClusterRoleBinding" {
				continue
			}
			// The two kinds have the same fields.
			binding := decode[rbacv1.ClusterRoleBinding](t, m)
			want := rbacv1.Subject{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}
			if len(binding.Subjects) != 1 || binding.Subjects[0] != want {
				t.Errorf("%s: subjects %v, want %v", m.path, binding.Subjects, want)
			}
			if ref := binding.RoleRef.Kind + "/" + binding.RoleRef.Name; !roles[ref] {
				t.Errorf("%s binds %s, which %s does not install", m.path, ref, folder)
			}
		}
	}
	account := one[corev1.ServiceAccount](t, load(t, "."), "ServiceAccount")
	schema := one[flowcontrolv1.FlowSchema](t, load(t, "."), "FlowSchema")
	for _, subject := range schema.Spec.Rules[0].Subjects {
		if got := *subject.ServiceAccount; got.Name != account.Name || got.Namespace != account.Namespace {
			t.Errorf("flow schema is for %v, want %s/%s", got, account.Namespace, account.Name)
		}
	}
}

// Wildcards in a flow schema only sort requests; in a role they grant.
func TestRolesHaveNoWildcards(t *testing.T) {
	roles := 0
	for _, m := range append(load(t, "."), load(t, "namespaced")...) {
		if m.Kind != "Role" && m.Kind != "ClusterRole" {
			continue
		}
		roles++
		role := decode[rbacv1.ClusterRole](t, m)
		for _, rule := range role.Rules {
			for _, s := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs) {
				if strings.Contains(s, "*") {
					t.Errorf("%s: wildcard %q", m.path, s)
				}
			}
		}
	}
	if roles == 0 {
		t.Error("no roles found")
	}
}

// The built-in role view must never learn to write, and edit never to touch
// what the controller answers for.
func TestUserRoles(t *testing.T) {
	reads := []string{"get", "list", "watch"}
	for _, m := range load(t, "rbac/users") {
		role := decode[rbacv1.ClusterRole](t, m)
		level := strings.TrimPrefix(role.Name, "lws-controller-")
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+level] != "true" {
			t.Errorf("%s is not added to the built-in role %s", m.path, level)
		}
		for _, rule := range role.Rules {
			if !slices.Equal(rule.APIGroups, []string{v1.GroupName}) {
				t.Errorf("%s: groups %v", m.path, rule.APIGroups)
			}
			for _, verb := range rule.Verbs {
				if level == "view" && !slices.Contains(reads, verb) {
					t.Errorf("%s grants %s", m.path, verb)
				}
			}
			if level == "edit" && slices.Contains(rule.Resources, "leaderworkersets/status") {
				t.Errorf("%s grants %v on status", m.path, rule.Verbs)
			}
		}
	}
}

func TestDisruptionBudgetCoversThePods(t *testing.T) {
	manifests := load(t, ".")
	budget := one[policyv1.PodDisruptionBudget](t, manifests, "PodDisruptionBudget")
	deployment := one[appsv1.Deployment](t, manifests, "Deployment")
	requireSelects(t, "budget", budget.Spec.Selector.MatchLabels, deployment)
	if budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.IntValue() >= int(*deployment.Spec.Replicas) {
		t.Errorf("maxUnavailable %v lets a drain take all %d replicas", budget.Spec.MaxUnavailable, *deployment.Spec.Replicas)
	}
	if budget.Spec.MaxUnavailable.IntValue() < 1 {
		t.Error("the budget blocks every drain")
	}
}

func TestServiceReachesThePods(t *testing.T) {
	manifests := load(t, ".")
	service := one[corev1.Service](t, manifests, "Service")
	deployment := one[appsv1.Deployment](t, manifests, "Deployment")
	requireSelects(t, "service", service.Spec.Selector, deployment)
	for _, port := range service.Spec.Ports {
		if !slices.ContainsFunc(deployment.Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
			return p.Name == port.TargetPort.StrVal
		}) {
			t.Errorf("service port %s goes to %s, which the pod does not have", port.Name, port.TargetPort.StrVal)
		}
	}
}

// requireSelects: the selector finds the deployment's pods, and no others.
// control-plane=controller-manager is common in kube-system, the name is ours.
func requireSelects(t *testing.T, what string, selector map[string]string, deployment appsv1.Deployment) {
	t.Helper()
	labels := deployment.Spec.Template.Labels
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("%s selects %s=%s; the pods have %q", what, key, value, labels[key])
		}
	}
	if selector["app.kubernetes.io/name"] != "lws-controller" {
		t.Errorf("%s selects pods of other controllers: %v", what, selector)
	}
}
