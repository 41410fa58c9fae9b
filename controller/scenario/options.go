package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

// options are the fields of a set that apply and edit know, by the names that
// they have in the API.
var options = map[string]func(s *v1.LeaderWorkerSet, value string) error{
	"replicas": func(s *v1.LeaderWorkerSet, value string) error { return number(&s.Spec.Replicas, value) },
	"size": func(s *v1.LeaderWorkerSet, value string) error {
		return number(&s.Spec.LeaderWorkerTemplate.Size, value)
	},
	"startupPolicy": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.StartupPolicy = v1.StartupPolicyType(value)
		return nil
	},
	"restartPolicy": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.LeaderWorkerTemplate.RestartPolicy = v1.RestartPolicyType(value)
		return nil
	},
	"maxGroupRestarts": func(s *v1.LeaderWorkerSet, value string) error {
		return number(&s.Spec.LeaderWorkerTemplate.MaxGroupRestarts, value)
	},
	"subdomainPolicy": func(s *v1.LeaderWorkerSet, value string) error {
		policy := v1.SubdomainPolicy(value)
		s.Spec.NetworkConfig = &v1.NetworkConfig{SubdomainPolicy: &policy}
		return nil
	},
	// claims is one template, data, with this retention: <whenDeleted>/<whenScaled>.
	"claims": func(s *v1.LeaderWorkerSet, value string) error {
		deleted, scaled, ok := strings.Cut(value, "/")
		if !ok {
			return errors.New("claims=<whenDeleted>/<whenScaled>")
		}
		t := &s.Spec.LeaderWorkerTemplate
		t.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		t.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(deleted), WhenScaled: appsv1.PersistentVolumeClaimRetentionPolicyType(scaled)}
		return nil
	},
	// queue is that of Kueue.
	"queue": func(s *v1.LeaderWorkerSet, value string) error {
		metav1.SetMetaDataLabel(&s.ObjectMeta, v1.LabelKueueQueue, value)
		if value == "none" {
			delete(s.Labels, v1.LabelKueueQueue)
		}
		return nil
	},
	// scheduling is gang, rack (a gang within one rack), basic or none.
	"scheduling": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.Scheduling = map[string]*v1.Scheduling{"gang": {}, "basic": {SchedulingPolicy: &v1.SchedulingPolicy{Basic: &v1.BasicPolicy{}}},
			"rack": {SchedulingConstraints: &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: "rack"}}}}}[value]
		return nil
	},
	"scheduler": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.SchedulerName = value
		if value == "none" {
			s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.SchedulerName = ""
		}
		return nil
	},
	// rack is the node selector of the template.
	"rack": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.NodeSelector = map[string]string{"rack": value}
		return nil
	},
	"image": func(s *v1.LeaderWorkerSet, value string) error {
		s.Spec.LeaderWorkerTemplate.WorkerTemplate.Spec.Containers[0].Image = value
		return nil
	},
	"maxUnavailable": func(s *v1.LeaderWorkerSet, value string) error {
		rolling(s).MaxUnavailable = intstr.Parse(value)
		return nil
	},
	"maxSurge": func(s *v1.LeaderWorkerSet, value string) error {
		rolling(s).MaxSurge = intstr.Parse(value)
		return nil
	},
	"partition": func(s *v1.LeaderWorkerSet, value string) error { return number(&rolling(s).Partition, value) },
}

// set changes a set by what the arguments say.
func (a args) set(s *v1.LeaderWorkerSet) error {
	for _, arg := range a.CmdArgs {
		if arg.Key == "annotations" {
			annotate(s, arg.Vals)
			continue
		}
		change, known := options[arg.Key]
		if !known || len(arg.Vals) != 1 {
			return fmt.Errorf("%s: not an option of a set", arg.String())
		}
		if err := change(s, arg.Vals[0]); err != nil {
			return fmt.Errorf("%s: %w", arg.String(), err)
		}
	}
	return nil
}

func annotate(s *v1.LeaderWorkerSet, pairs []string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if s.Annotations[key] = value; value == "" {
			delete(s.Annotations, key)
		}
	}
}

func rolling(s *v1.LeaderWorkerSet) *v1.RollingUpdateConfiguration {
	return s.Spec.RolloutStrategy.RollingUpdateConfiguration
}

func number(to **int32, value string) error {
	if value == "none" {
		*to = nil
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	i := int32(n)
	*to = &i
	return err
}
