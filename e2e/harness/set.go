package harness

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lwsv1 "lws-controller/api/v1"
)

// Set is short for the resource under test.
type Set = lwsv1.LeaderWorkerSet

// Option changes a set before it is created. Any function will do.
type Option func(*Set)

// NewSet makes a set with one group of one pod and no more fields than needed.
func NewSet(namespace, name string, options ...Option) *Set {
	set := &Set{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: lwsv1.LeaderWorkerSetSpec{
			LeaderWorkerTemplate: lwsv1.LeaderWorkerTemplate{WorkerTemplate: Template("worker")},
		},
	}
	for _, change := range options {
		change(set)
	}
	return set
}

// Template is a pod template with one container of this name.
func Template(container string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: container, Image: "example.com/" + container + ":1"}},
	}}
}

// Replicas sets the number of groups.
func Replicas(n int32) Option { return func(set *Set) { set.Spec.Replicas = &n } }

// Size sets the number of pods per group.
func Size(n int32) Option { return func(set *Set) { set.Spec.LeaderWorkerTemplate.Size = &n } }

// LeaderReady has workers wait for their leader to be Ready.
func LeaderReady(set *Set) { set.Spec.StartupPolicy = lwsv1.LeaderReadyStartupPolicy }

// UniquePerReplica gives each group a Service of its own.
func UniquePerReplica(set *Set) {
	policy := lwsv1.SubdomainUniquePerReplica
	set.Spec.NetworkConfig = &lwsv1.NetworkConfig{SubdomainPolicy: &policy}
}

// RestartPolicy says what happens when a pod fails.
func RestartPolicy(p lwsv1.RestartPolicyType) Option {
	return func(set *Set) { set.Spec.LeaderWorkerTemplate.RestartPolicy = p }
}

// Worker changes the worker template.
func Worker(change func(*corev1.PodTemplateSpec)) Option {
	return func(set *Set) { change(&set.Spec.LeaderWorkerTemplate.WorkerTemplate) }
}

// Takes has each pod without a leader template of its own take one of a resource that
// nodes have room for: Env.Room.
func Takes(name corev1.ResourceName) Option {
	return Worker(func(p *corev1.PodTemplateSpec) {
		one := corev1.ResourceList{name: resource.MustParse("1")}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
	})
}

// Leader changes the leader template, adding one with a container named leader if
// there is none.
func Leader(change func(*corev1.PodTemplateSpec)) Option {
	return func(set *Set) {
		template := &set.Spec.LeaderWorkerTemplate
		if template.LeaderTemplate == nil {
			leader := Template("leader")
			template.LeaderTemplate = &leader
		}
		change(template.LeaderTemplate)
	}
}

// Annotation sets an annotation of the set, or takes it off if the value is empty.
func Annotation(key, value string) Option {
	return func(set *Set) {
		if value == "" {
			delete(set.Annotations, key)
			return
		}
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, value)
	}
}

// Annotated adds an annotation to a pod template; see the annotations by which
// package cluster lets pods misbehave.
func Annotated(key, value string) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { metav1.SetMetaDataAnnotation(&t.ObjectMeta, key, value) }
}
