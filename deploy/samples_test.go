package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// shows says of each sample whether it still shows what it is for.
var shows = map[string]func(*v1.LeaderWorkerSet) bool{
	"plain": func(s *v1.LeaderWorkerSet) bool {
		return *s.Spec.Replicas == 3 && *s.Spec.LeaderWorkerTemplate.Size == 4 && s.Spec.LeaderWorkerTemplate.LeaderTemplate == nil
	},
	"claims": func(s *v1.LeaderWorkerSet) bool {
		mounts := s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].VolumeMounts
		return len(s.Spec.LeaderWorkerTemplate.VolumeClaimTemplates) == 1 && len(mounts) == 1 &&
			mounts[0].Name == s.Spec.LeaderWorkerTemplate.VolumeClaimTemplates[0].Name
	},
	"gang": func(s *v1.LeaderWorkerSet) bool {
		return topology.IsGang(s.Spec.Scheduling) && s.Spec.Scheduling.SchedulingConstraints == nil
	},
	"gang-rack": func(s *v1.LeaderWorkerSet) bool {
		return topology.IsGang(s.Spec.Scheduling) && s.Spec.Scheduling.SchedulingConstraints.Topology[0].Key == "rack"
	},
	"exclusive-rack": func(s *v1.LeaderWorkerSet) bool {
		return s.Annotations[v1.AnnotationExclusiveTopology] == "rack" && *s.Spec.Replicas > 1
	},
	"subgroups": func(s *v1.LeaderWorkerSet) bool {
		policy := s.Spec.LeaderWorkerTemplate.SubGroupPolicy
		return s.Annotations[v1.AnnotationSubGroupExclusiveTopology] == "rack" && *policy.Type == v1.SubGroupPolicyLeaderExcluded &&
			*s.Spec.LeaderWorkerTemplate.Size == 2**policy.SubGroupSize+1
	},
	"two-templates": func(s *v1.LeaderWorkerSet) bool {
		return s.Spec.LeaderWorkerTemplate.LeaderTemplate != nil && s.Spec.StartupPolicy != v1.LeaderReadyStartupPolicy
	},
	"leader-first": func(s *v1.LeaderWorkerSet) bool {
		leader := s.Spec.LeaderWorkerTemplate.LeaderTemplate
		return s.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy && leader.Spec.Containers[0].ReadinessProbe != nil
	},
	"unique": func(s *v1.LeaderWorkerSet) bool {
		return *s.Spec.NetworkConfig.SubdomainPolicy == v1.SubdomainUniquePerReplica
	},
	"tpu": func(s *v1.LeaderWorkerSet) bool {
		return s.Annotations[v1.AnnotationExclusiveTopology] != "" && asksFor(s, "google.com/tpu", 4)
	},
	"vllm": func(s *v1.LeaderWorkerSet) bool {
		return asksFor(s, "nvidia.com/gpu", 8) && allSay(s, "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)")
	},
	"sglang": func(s *v1.LeaderWorkerSet) bool {
		return asksFor(s, "nvidia.com/gpu", 8) && allSay(s, "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)", "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000")
	},
	"llama-cpp": func(s *v1.LeaderWorkerSet) bool { return asksFor(s, "nvidia.com/gpu", 1) && allSay(s, "50052") },
	"pytorch": func(s *v1.LeaderWorkerSet) bool {
		return asksFor(s, "nvidia.com/gpu", 8) && allSay(s, "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)")
	},
}

// podsOf are the pods of the first group of a set.
func podsOf(s *v1.LeaderWorkerSet) (pods []*corev1.Pod) {
	g := topology.Group{Set: s, Template: &s.Spec.LeaderWorkerTemplate, Network: s.Spec.NetworkConfig, Revision: "r"}
	for w := range g.Size() {
		pods = append(pods, g.Pod(w))
	}
	return pods
}

// asksFor says whether each pod asks for so many of a resource.
func asksFor(s *v1.LeaderWorkerSet, name corev1.ResourceName, n int64) bool {
	return !slices.ContainsFunc(podsOf(s), func(p *corev1.Pod) bool {
		got := p.Spec.Containers[0].Resources.Limits[name]
		return got.Value() != n
	})
}

// allSay says whether the command of each pod contains all words.
func allSay(s *v1.LeaderWorkerSet, words ...string) bool {
	return !slices.ContainsFunc(podsOf(s), func(p *corev1.Pod) bool {
		command := strings.Join(p.Spec.Containers[0].Command, " ")
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(command, w) })
	})
}

func TestSamples(t *testing.T) {
	left := maps.Clone(shows)
	sets := map[string]*v1.LeaderWorkerSet{} // by file
	all := load(t, "samples")
	for _, m := range all {
		if m.Kind != "LeaderWorkerSet" {
			continue
		}
		set := decode[v1.LeaderWorkerSet](t, m)
		sets[m.path] = &set
		show, ok := left[set.Name]
		if !ok {
			t.Errorf("%s: what sample %s shows is not known to this test", m.path, set.Name)
			continue
		}
		delete(left, set.Name)
		if !show(&set) {
			t.Errorf("%s no longer shows what it is for", m.path)
		}
		if len(set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers) == 0 {
			t.Errorf("%s has no worker container", m.path)
		}
		spelling(t, m)
	}
	for name := range left {
		t.Errorf("sample %s is missing", name)
	}
	for _, m := range all {
		set := sets[m.path]
		switch {
		case set == nil:
			t.Errorf("%s has no set", m.path)
		case m.Kind == "Service":
			leadersOnly(t, m.path, decode[corev1.Service](t, m), set)
		case m.Kind == "ConfigMap":
			decode[corev1.ConfigMap](t, m)
		case m.Kind == "NetworkPolicy":
			decode[networkingv1.NetworkPolicy](t, m)
		case m.Kind != "LeaderWorkerSet":
			t.Errorf("%s: kind %s", m.path, m.Kind)
		}
	}
}

// leadersOnly fails the test unless a sample's Service selects its leaders, and no worker,
// and a port that they have.
func leadersOnly(t *testing.T, path string, service corev1.Service, set *v1.LeaderWorkerSet) {
	t.Helper()
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for w, pod := range podsOf(set) {
		if got := selector.Matches(labels.Set(pod.Labels)); got != (w == 0) {
			t.Errorf("%s: Service %s selects pod %s: %t", path, service.Name, pod.Name, got)
		}
	}
	for _, port := range service.Spec.Ports {
		if !slices.ContainsFunc(podsOf(set)[0].Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
			return p.Name == port.TargetPort.StrVal && p.ContainerPort == port.Port
		}) {
			t.Errorf("%s: the leader has no port %s of %d", path, port.TargetPort.String(), port.Port)
		}
	}
}

var variables = regexp.MustCompile(`\$[({]?(LWS_\w+)`)

// spelling fails the test if a sample speaks of a variable that no container has.
func spelling(t *testing.T, m manifest) {
	t.Helper()
	for _, found := range variables.FindAllStringSubmatch(string(m.data), -1) {
		if !slices.Contains([]string{v1.EnvLeaderAddress, v1.EnvGroupSize, v1.EnvWorkerIndex}, found[1]) {
			t.Errorf("%s: no container has %s", m.path, found[1])
		}
	}
}

// The table in the samples' README names each file, and none that is not there. Each file
// begins with what it shows.
func TestSamplesAreTold(t *testing.T) {
	readme, err := os.ReadFile("samples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, found := range regexp.MustCompile(`(?m)^\| \[(.+)\]\((.+)\) \| \S`).FindAllStringSubmatch(string(readme), -1) {
		if found[1] != found[2] {
			t.Errorf("%s leads to %s", found[1], found[2])
		}
		told = append(told, found[1])
	}
	listed := slices.Clone(readKustomization(t, "samples").Resources)
	slices.Sort(told)
	slices.Sort(listed)
	if !slices.Equal(told, listed) {
		t.Errorf("the README tells of %v, there are %v", told, listed)
	}
	for _, file := range listed {
		data, err := os.ReadFile(filepath.Join("samples", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), "# ") || !strings.Contains(string(data), "\n#   kubectl ") {
			t.Errorf("%s does not begin with what it shows and how to watch it", file)
		}
	}
}
