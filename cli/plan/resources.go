package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// requests is what a pod asks of a node, by resource; pods counts the pod itself.
func requests(spec *corev1.PodSpec) corev1.ResourceList {
	total, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(sidecars, asked(c))
			raise(most, sidecars)
			continue
		}
		// It runs beside the sidecars before it, and before everything else.
		alone := sidecars.DeepCopy()
		add(alone, asked(c))
		raise(most, alone)
	}
	add(total, sidecars)
	for i := range spec.Containers {
		add(total, asked(&spec.Containers[i]))
	}
	raise(total, most)
	if spec.Resources != nil {
		for name, q := range spec.Resources.Requests {
			total[name] = q.DeepCopy()
		}
	}
	add(total, spec.Overhead)
	total[corev1.ResourcePods] = resource.MustParse("1")
	return total
}

// asked is what a container requests, or, where it says nothing, its limit, which the
// API server makes its request.
func asked(c *corev1.Container) corev1.ResourceList {
	out := c.Resources.Limits.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, q := range c.Resources.Requests {
		out[name] = q.DeepCopy()
	}
	return out
}

func add(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name]
		sum.Add(q)
		to[name] = sum
	}
}

func subtract(from, less corev1.ResourceList) {
	for name, q := range less {
		rest := from[name]
		rest.Sub(q)
		from[name] = rest
	}
}

func raise(to, least corev1.ResourceList) {
	for name, q := range least {
		if have := to[name]; have.Cmp(q) < 0 {
			to[name] = q.DeepCopy()
		}
	}
}
