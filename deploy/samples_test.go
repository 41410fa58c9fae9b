package deploy_test

import (
	"testing"

	v1 "lws-controller/api/v1"
)

func TestSamples(t *testing.T) {
	want := map[string]func(annotations map[string]string, s v1.LeaderWorkerSetSpec) bool{
		"plain": func(_ map[string]string, s v1.LeaderWorkerSetSpec) bool {
			return *s.Replicas == 3 && *s.LeaderWorkerTemplate.Size == 4 && s.LeaderWorkerTemplate.LeaderTemplate == nil
		},
		"claims": func(_ map[string]string, s v1.LeaderWorkerSetSpec) bool {
			mounts := s.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].VolumeMounts
			return len(s.LeaderWorkerTemplate.VolumeClaimTemplates) == 1 && len(mounts) == 1 &&
				mounts[0].Name == s.LeaderWorkerTemplate.VolumeClaimTemplates[0].Name
		},
		"exclusive-rack": func(annotations map[string]string, s v1.LeaderWorkerSetSpec) bool {
			return annotations[v1.AnnotationExclusiveTopology] == "rack" && *s.Replicas > 1
		},
		"two-templates": func(_ map[string]string, s v1.LeaderWorkerSetSpec) bool {
			return s.LeaderWorkerTemplate.LeaderTemplate != nil && s.StartupPolicy == v1.LeaderReadyStartupPolicy
		},
		"unique": func(_ map[string]string, s v1.LeaderWorkerSetSpec) bool {
			return *s.NetworkConfig.SubdomainPolicy == v1.SubdomainUniquePerReplica
		},
	}
	for _, m := range load(t, "samples") {
		if m.APIVersion != v1.GroupName+"/v1" || m.Kind != "LeaderWorkerSet" {
			t.Errorf("%s: %s %s", m.path, m.APIVersion, m.Kind)
			continue
		}
		set := decode[v1.LeaderWorkerSet](t, m)
		shows, ok := want[set.Name]
		if !ok {
			t.Errorf("%s: what sample %s shows is not known to this test", m.path, set.Name)
			continue
		}
		delete(want, set.Name)
		if !shows(set.Annotations, set.Spec) {
			t.Errorf("%s no longer shows what it is for", m.path)
		}
		if len(set.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers) == 0 {
			t.Errorf("%s has no worker container", m.path)
		}
	}
	for name := range want {
		t.Errorf("sample %s is missing", name)
	}
}
