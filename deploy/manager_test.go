package deploy_test

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestDeploymentIdentity(t *testing.T) {
	deployment := one[appsv1.Deployment](t, load(t, "."), "Deployment")
	if deployment.Namespace != "kube-system" || deployment.Name != "lws-controller-manager" {
		t.Errorf("got %s/%s", deployment.Namespace, deployment.Name)
	}
	for what, labels := range map[string]map[string]string{"deployment": deployment.Labels, "pods": deployment.Spec.Template.Labels} {
		if labels["control-plane"] != "controller-manager" {
			t.Errorf("%s lack control-plane=controller-manager: %v", what, labels)
		}
	}
	requireSelects(t, "deployment", deployment.Spec.Selector.MatchLabels, deployment)
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("replicas %d, want 2: one that leads and one that waits", *deployment.Spec.Replicas)
	}
}

func TestDeploymentIsHardened(t *testing.T) {
	pod := one[appsv1.Deployment](t, load(t, "."), "Deployment").Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatalf("got %d containers, %d init containers", len(pod.Containers), len(pod.InitContainers))
	}
	podContext, container := pod.SecurityContext, pod.Containers[0].SecurityContext
	if podContext == nil || container == nil || container.Capabilities == nil || podContext.SeccompProfile == nil {
		t.Fatal("security contexts are incomplete")
	}
	checks := map[string]bool{
		"runAsNonRoot":             isTrue(podContext.RunAsNonRoot),
		"a user that is not root":  podContext.RunAsUser != nil && *podContext.RunAsUser > 0,
		"seccomp RuntimeDefault":   podContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"read-only root":           isTrue(container.ReadOnlyRootFilesystem),
		"no privilege escalation":  container.AllowPrivilegeEscalation != nil && !*container.AllowPrivilegeEscalation,
		"not privileged":           !isTrue(container.Privileged),
		"drops all capabilities":   slices.Equal(container.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"adds no capability":       len(container.Capabilities.Add) == 0,
		"no host namespaces":       !pod.HostNetwork && !pod.HostPID && !pod.HostIPC,
		"no volumes from the host": len(pod.Volumes) == 0,
	}
	for _, what := range slices.Sorted(maps.Keys(checks)) {
		if !checks[what] {
			t.Errorf("not so: %s", what)
		}
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func TestDeploymentSurvivesPressure(t *testing.T) {
	pod := one[appsv1.Deployment](t, load(t, "."), "Deployment").Spec.Template.Spec
	if pod.PriorityClassName != "system-cluster-critical" {
		t.Errorf("priority class %q", pod.PriorityClassName)
	}
	resources := pod.Containers[0].Resources
	if resources.Requests.Cpu().IsZero() || resources.Requests.Memory().IsZero() || resources.Limits.Memory().IsZero() {
		t.Errorf("resources are incomplete: %v", resources)
	}
	if !resources.Limits.Cpu().IsZero() {
		t.Error("a CPU limit throttles every set at once")
	}
}

func TestDeploymentIsSpread(t *testing.T) {
	deployment := one[appsv1.Deployment](t, load(t, "."), "Deployment")
	var keys []string
	for _, constraint := range deployment.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, constraint.TopologyKey)
		requireSelects(t, "spread over "+constraint.TopologyKey, constraint.LabelSelector.MatchLabels, deployment)
		if constraint.WhenUnsatisfiable != corev1.ScheduleAnyway {
			t.Errorf("%s: a cluster with one domain would run one replica", constraint.TopologyKey)
		}
	}
	if want := []string{corev1.LabelHostname, corev1.LabelTopologyZone}; !slices.Equal(keys, want) {
		t.Errorf("spread over %v, want %v", keys, want)
	}
}

func TestDeploymentProbes(t *testing.T) {
	container := one[appsv1.Deployment](t, load(t, "."), "Deployment").Spec.Template.Spec.Containers[0]
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != container.Ports[0].Name {
			t.Errorf("no probe of %s on port %s: %v", path, container.Ports[0].Name, probe)
		}
	}
}

// Whoever installs it names an image of their own: the one in the deployment
// must be the one that both kustomizations replace.
func TestImageCanBeReplaced(t *testing.T) {
	image := one[appsv1.Deployment](t, load(t, "."), "Deployment").Spec.Template.Spec.Containers[0].Image
	for _, folder := range []string{".", "namespaced"} {
		images := readKustomization(t, folder).Images
		if len(images) != 1 || images[0].Name != image {
			t.Errorf("%s replaces %v, the deployment has %s", folder, images, image)
		}
	}
}
