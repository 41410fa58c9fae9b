package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "lws-controller/api/v1"
)

// LeaderAddress is the name under which the pods of the group find their leader
// in DNS, short of the cluster's domain.
func (g *Group) LeaderAddress() string {
	return g.LeaderName() + "." + g.ServiceName() + "." + g.Set.Namespace
}

// addGroupEnv gives every container of a pod its place in the group. The
// variables come first, since $(NAME) expands only to variables before it, and
// the user's own of the same names give way.
func (g *Group) addGroupEnv(spec *corev1.PodSpec, worker int32) {
	place := []corev1.EnvVar{
		{Name: v1.EnvLeaderAddress, Value: g.LeaderAddress()},
		{Name: v1.EnvGroupSize, Value: itoa(g.Size())},
		{Name: v1.EnvWorkerIndex, Value: itoa(worker)},
	}
	for c := range containers(spec) {
		c.Env = append(slices.Clone(place), dropEnv(c.Env, v1.EnvLeaderAddress, v1.EnvGroupSize, v1.EnvWorkerIndex)...)
	}
}

// containers yields the regular containers of a pod and then its init
// containers.
func containers(spec *corev1.PodSpec) func(yield func(*corev1.Container) bool) {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// findEnv is the last variable of this name, which is the one that counts; nil
// when there is none.
func findEnv(env []corev1.EnvVar, name string) *corev1.EnvVar {
	for i := len(env) - 1; i >= 0; i-- {
		if env[i].Name == name {
			return &env[i]
		}
	}
	return nil
}

// dropEnv removes the variables of these names, in place.
func dropEnv(env []corev1.EnvVar, names ...string) []corev1.EnvVar {
	return slices.DeleteFunc(env, func(e corev1.EnvVar) bool { return slices.Contains(names, e.Name) })
}
