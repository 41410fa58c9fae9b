package deploy_test

import (
	"testing"

	v1 "lws-controller/api/v1"
)

func TestSamples(t *testing.T) {
	want := map[string]func(*v1.LeaderWorkerSet) bool{
		"plain": func(s *v1.LeaderWorkerSet) bool {
			return *s.Spec.Replicas == 3 && *s.Spec.LeaderWorkerTemplate.Size == 4 && s.Spec.LeaderWorkerTemplate.LeaderTemplate == nil
		},
		"claims": func(s *v1.LeaderWorkerSet) bool {
			mounts := s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].VolumeMounts
			return len(s.Spec.LeaderWorkerTemplate.VolumeClaimTemplates) == 1 && len(mounts) == 1 &&
				mounts[0].Name == s.Spec.LeaderWorkerTemplate.VolumeClaimTemplates[0].Name
		},
		"exclusive-rack": func(s *v1.LeaderWorkerSet) bool {
			return s.Annotations[v1.AnnotationExclusiveTopology] == "rack" && *s.Spec.Replicas > 1
		},
		"two-templates": func(s *v1.LeaderWorkerSet) bool {
			return s.Spec.LeaderWorkerTemplate.LeaderTemplate != nil && s.Spec.StartupPolicy == v1.LeaderReadyStartupPolicy
		},
		"unique": func(s *v1.LeaderWorkerSet) bool {
			return *s.Spec.NetworkConfig.SubdomainPolicy == v1.SubdomainUniquePerReplica
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
		if !shows(&set) {
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
