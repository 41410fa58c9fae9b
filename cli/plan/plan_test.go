package plan

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
	"lws-controller/controller"
	"lws-controller/revision"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// stored is a cluster in which a set of 4 groups of 2 pods has been Ready for an hour,
// on one node that has room for two more pods.
func stored(t *testing.T) *Snapshot {
	t.Helper()
	replicas, size := int32(4), int32(2)
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	set := &v1.LeaderWorkerSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "set", Generation: 1, Annotations: map[string]string{}},
		Spec: v1.LeaderWorkerSetSpec{Replicas: &replicas, LeaderWorkerTemplate: v1.LeaderWorkerTemplate{Size: &size,
			RestartPolicy: v1.RecreateGroupOnPodRestart,
			WorkerTemplate: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "model:1",
				Resources: corev1.ResourceRequirements{Limits: gpus}}}}}}},
	}
	history, _ := revision.NewHistory(nil)
	r, err := history.Next(set, history.Wanted(set, time.Time{}), time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	set.Status = v1.LeaderWorkerSetStatus{ObservedGeneration: 1, EstablishedReplicas: 4, CurrentRevision: r.Key, UpdateRevision: r.Key}
	s := &Snapshot{Now: now, Before: set, After: set.DeepCopy(), Revisions: []*appsv1.ControllerRevision{r.Object},
		Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("10"), "pods": resource.MustParse("100")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}}}
	s.After.Generation = 2
	for index := range replicas {
		for worker := range size {
			p := controller.GroupOf(set, r, index, 1).Pod(worker)
			p.UID, p.ResourceVersion = types.UID(p.Name), fmt.Sprint(100+len(s.Pods))
			p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
			p.Spec.NodeName = "node-0"
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: p.CreationTimestamp}}}
			if worker == 0 {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1.ConditionGroupReady, Status: corev1.ConditionTrue, LastTransitionTime: p.CreationTimestamp})
			}
			s.Pods = append(s.Pods, *p)
		}
	}
	s.Services = []corev1.Service{*controller.GroupOf(set, r, 0, 1).Service()}
	return s
}

// unready makes the pods of a group not Ready.
func (s *Snapshot) unready(index int, reason string) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if !strings.HasPrefix(p.Name, fmt.Sprintf("demo-%d", index)) {
			continue
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
}

func image(s *Snapshot) {
	s.After.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = "model:2"
}

func scale(n int32) func(*Snapshot) { return func(s *Snapshot) { s.After.Spec.Replicas = &n } }

func size(n int32) func(*Snapshot) {
	return func(s *Snapshot) { s.After.Spec.LeaderWorkerTemplate.Size = &n }
}

func budget(unavailable, surge string, partition int32) func(*Snapshot) {
	return func(s *Snapshot) {
		c := &v1.RollingUpdateConfiguration{Partition: &partition, MaxUnavailable: intstr.Parse(unavailable), MaxSurge: intstr.Parse(surge)}
		s.After.Spec.RolloutStrategy.RollingUpdateConfiguration = c
		s.Before.Spec.RolloutStrategy.RollingUpdateConfiguration = c
	}
}

func annotate(key, value string) func(*Snapshot) {
	return func(s *Snapshot) { s.After.Annotations[steeringPrefix+key] = value }
}

func full(s *Snapshot) { s.Nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8") }

func perReplica(s *Snapshot) {
	policy := v1.SubdomainUniquePerReplica
	s.After.Spec.NetworkConfig = &v1.NetworkConfig{SubdomainPolicy: &policy}
}

func crashing(indices ...int) func(*Snapshot) {
	return func(s *Snapshot) {
		for _, i := range indices {
			s.unready(i, "CrashLoopBackOff")
		}
	}
}

func quota(s *Snapshot) {
	s.Quotas = []corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("50")},
		Used: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("8")}}}}
}

// exclusive has groups want racks for themselves, which no node has a label for.
func exclusive(s *Snapshot) {
	s.After.Annotations[v1.AnnotationExclusiveTopology] = "rack"
	for i := range s.Pods {
		metav1.SetMetaDataAnnotation(&s.Pods[i].ObjectMeta, v1.AnnotationExclusiveTopology, "rack")
	}
}

func queued(s *Snapshot) { metav1.SetMetaDataLabel(&s.After.ObjectMeta, v1.LabelKueueQueue, "gpus") }

// gang has groups scheduled as one, in racks if wished: node-0 is in the first, and another
// node with room for so many pods in the second.
func gang(s *Snapshot, rack bool, room string) {
	s.After.Spec.Scheduling = &v1.Scheduling{}
	if rack {
		s.After.Spec.Scheduling.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}
	}
	s.Nodes[0].Labels = map[string]string{"rack": "rack-0"}
	other := *s.Nodes[0].DeepCopy()
	other.Name, other.Labels["rack"] = "node-1", "rack-1"
	other.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse(room)
	s.Nodes = append(s.Nodes, other)
}

func gangs(s *Snapshot)     { gang(s, false, "1") }
func rackGangs(s *Snapshot) { gang(s, true, "1") }

func noGangs(s *Snapshot) {
	gangs(s)
	s.NoGangs = "the cluster has no PodGroups"
}

// claimed has each pod have a claim, which exists, with this policy for a scale-down.
func claimed(policy appsv1.PersistentVolumeClaimRetentionPolicyType) func(*Snapshot) {
	return func(s *Snapshot) {
		old := s.Before.DeepCopy()
		for _, set := range []*v1.LeaderWorkerSet{old, s.Before, s.After} {
			t := &set.Spec.LeaderWorkerTemplate
			t.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			t.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: policy}
		}
		history, _ := revision.NewHistory(nil)
		r, err := history.Next(old, history.Wanted(old, time.Time{}), time.Time{}, "")
		if err != nil {
			panic(err)
		}
		s.Revisions = []*appsv1.ControllerRevision{r.Object}
		s.Before.Status.CurrentRevision, s.Before.Status.UpdateRevision = r.Key, r.Key
		s.After.Status = *s.Before.Status.DeepCopy()
		s.Claims = []corev1.PersistentVolumeClaim{}
		for i := range s.Pods {
			s.Pods[i].Labels[v1.LabelRevision] = r.Key
			s.Claims = append(s.Claims, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + s.Pods[i].Name}})
		}
	}
}

// another has a claim of group 4 be a StatefulSet's.
func another(s *Snapshot) {
	yes := true
	s.Claims = append(s.Claims, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-demo-4-1",
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "demo-4", UID: "other", Controller: &yes}}}})
}

func unknown(s *Snapshot) { s.Nodes = nil }

func TestPlans(t *testing.T) {
	for name, changes := range map[string][]func(*Snapshot){
		"nothing":                {},
		"template":               {image},
		"template, broken":       {image},
		"size up":                {size(3), unknown},
		"placed":                 {image, exclusive},
		"placed, unknown nodes":  {image, exclusive, unknown},
		"kueue":                  {image, queued},
		"claims, down, delete":   {claimed("Delete"), scale(2)},
		"claims, down, retain":   {claimed("Retain"), scale(2)},
		"claims, smaller":        {claimed("Delete"), size(1)},
		"claims, up":             {claimed("Delete"), scale(5), another},
		"gang":                   {image, gangs},
		"gang, more":             {scale(6), gangs},
		"gang, more in a rack":   {scale(6), rackGangs},
		"gang, size":             {size(3), gangs},
		"gang, no API":           {image, noGangs},
		"size down":              {size(1)},
		"subdomain policy":       {perReplica},
		"surge":                  {image, budget("0", "1", 0)},
		"surge, full":            {image, budget("0", "1", 0), full},
		"surge, full, may":       {image, budget("1", "1", 0), full},
		"surge, quota":           {image, budget("1", "1", 0), quota},
		"partition with surge":   {image, budget("1", "1", 2)},
		"broken groups":          {image, crashing(0, 2)},
		"paused":                 {image, annotate("paused", "true")},
		"restarted":              {annotate("restarted-at", "2026-12-01T09:59:00Z")},
		"recycle":                {annotate("recycle", "0,2@2026-12-01T10:05:00Z")},
		"min-ready":              {image, annotate("min-ready", "30s"), annotate("progress-deadline", "10m")},
		"percentages":            {image, budget("50%", "25%", 0)},
		"up with template":       {image, scale(6), unknown},
		"up with template, full": {image, scale(5), full},
		"down with template":     {image, scale(2)},
		"to nothing":             {scale(0)},
		"not understood":         {annotate("max-surge", "many")},
		"deadline, full":         {image, budget("0", "1", 0), full, annotate("progress-deadline", "10m")},
		"new": {func(s *Snapshot) {
			s.Before, s.Pods, s.Revisions, s.Services = nil, nil, nil, nil
			s.After.Status = v1.LeaderWorkerSetStatus{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stored(t)
			for _, change := range changes {
				change(s)
			}
			report, err := Make(s, Options{AssumeBroken: strings.HasSuffix(name, "broken")})
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := report.Print(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", strings.NewReplacer(", ", "-", " ", "-").Replace(name)+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("other than %s (-update writes that):\n%s", golden, d)
			}
		})
	}
}

// TestStopped: a plan that takes too long ends when it is told to.
func TestStopped(t *testing.T) {
	s := stored(t)
	image(s)
	asked := 0
	_, err := Make(s, Options{Stopped: func() bool { asked++; return asked > 3 }})
	if !errors.Is(err, ErrStopped) || asked > 6 {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}
