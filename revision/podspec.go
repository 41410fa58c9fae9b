package revision

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// canonicalPodSpec writes out what the API server adds to every pod that leaves
// it out, on Kubernetes 1.33 to 1.37 alike. A StatefulSet gets the same for its
// template from the API server; a template inside a custom resource does not.
func canonicalPodSpec(s *corev1.PodSpec) {
	setIfZero(&s.RestartPolicy, corev1.RestartPolicyAlways)
	setIfZero(&s.DNSPolicy, corev1.DNSClusterFirst)
	setIfZero(&s.SchedulerName, corev1.DefaultSchedulerName)
	setDefault(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	setDefault(&s.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	setDefault(&s.SecurityContext, corev1.PodSecurityContext{})
	// serviceAccount is the old name of serviceAccountName, which wins.
	setIfZero(&s.ServiceAccountName, s.DeprecatedServiceAccount)
	s.DeprecatedServiceAccount = ""

	for i := range s.InitContainers {
		canonicalContainer(&s.InitContainers[i], s.HostNetwork)
	}
	for i := range s.Containers {
		canonicalContainer(&s.Containers[i], s.HostNetwork)
	}
	for i := range s.Volumes {
		canonicalVolume(&s.Volumes[i])
	}
}

func canonicalContainer(c *corev1.Container, hostNetwork bool) {
	setPullPolicy(&c.ImagePullPolicy, c.Image)
	setIfZero(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setIfZero(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		setIfZero(&c.Ports[i].Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			setIfZero(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			canonicalFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				setDefault(&from.FileKeyRef.Optional, false)
			}
		}
	}
	for name, limit := range c.Resources.Limits {
		if c.Resources.Requests == nil {
			c.Resources.Requests = corev1.ResourceList{}
		}
		if _, ok := c.Resources.Requests[name]; !ok {
			c.Resources.Requests[name] = limit
		}
	}
	canonicalProbe(c.LivenessProbe)
	canonicalProbe(c.ReadinessProbe)
	canonicalProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				canonicalHTTPGet(handler.HTTPGet)
			}
		}
	}
}

func canonicalProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setIfZero(&p.TimeoutSeconds, 1)
	setIfZero(&p.PeriodSeconds, 10)
	setIfZero(&p.SuccessThreshold, 1)
	setIfZero(&p.FailureThreshold, 3)
	canonicalHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefault(&p.GRPC.Service, "")
	}
}

func canonicalHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		setIfZero(&get.Path, "/")
		setIfZero(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func canonicalFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setIfZero(&ref.APIVersion, "v1")
	}
}

// fileMode is the mode of files that a volume makes from API objects.
const fileMode int32 = 0o644

func canonicalVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		setDefault(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Secret != nil {
		setDefault(&v.Secret.DefaultMode, fileMode)
	}
	if v.ConfigMap != nil {
		setDefault(&v.ConfigMap.DefaultMode, fileMode)
	}
	if v.DownwardAPI != nil {
		setDefault(&v.DownwardAPI.DefaultMode, fileMode)
		canonicalDownwardItems(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		canonicalProjected(v.Projected)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		setDefault(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
	if v.Image != nil {
		setPullPolicy(&v.Image.PullPolicy, v.Image.Reference)
	}
	canonicalLegacyVolume(v)
}

func canonicalProjected(p *corev1.ProjectedVolumeSource) {
	setDefault(&p.DefaultMode, fileMode)
	for i := range p.Sources {
		if p.Sources[i].DownwardAPI != nil {
			canonicalDownwardItems(p.Sources[i].DownwardAPI.Items)
		}
		if p.Sources[i].ServiceAccountToken != nil {
			setDefault(&p.Sources[i].ServiceAccountToken.ExpirationSeconds, 3600)
		}
	}
}

func canonicalDownwardItems(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		canonicalFieldRef(items[i].FieldRef)
	}
}

// canonicalLegacyVolume covers volume sources of storage systems that predate
// CSI.
func canonicalLegacyVolume(v *corev1.Volume) {
	if v.ISCSI != nil {
		setIfZero(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		setIfZero(&v.RBD.RBDPool, "rbd")
		setIfZero(&v.RBD.RadosUser, "admin")
		setIfZero(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		setDefault(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		setDefault(&v.AzureDisk.FSType, "ext4")
		setDefault(&v.AzureDisk.ReadOnly, false)
		setDefault(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if v.ScaleIO != nil {
		setIfZero(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setIfZero(&v.ScaleIO.FSType, "xfs")
	}
}

// image matches well-formed image references and finds their tag and digest.
var image = func() *regexp.Regexp {
	const (
		host   = `(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?/)?`
		part   = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
		tag    = `(?::([0-9A-Za-z_][0-9A-Za-z_.-]{0,127}))?`
		digest = `(@sha256:[0-9a-f]{64})?`
	)
	return regexp.MustCompile(`^` + host + part + `(?:/` + part + `)*` + tag + digest + `$`)
}()

// setPullPolicy writes out the policy that follows from an image: Always for the
// latest tag, also when it is only implied, IfNotPresent for all others. What
// follows from a reference that is not well-formed is left open.
func setPullPolicy(policy *corev1.PullPolicy, reference string) {
	match := image.FindStringSubmatch(reference)
	if *policy != "" || match == nil {
		return
	}
	tag, digest := match[1], match[2]
	if tag == "latest" || (tag == "" && digest == "") {
		*policy = corev1.PullAlways
	} else {
		*policy = corev1.PullIfNotPresent
	}
}
