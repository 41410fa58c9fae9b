package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the resource.
const GroupName = "leaderworkerset.x-k8s.io"

// Kind is the kind of the resource.
const Kind = "LeaderWorkerSet"

// Resource is the plural, as it stands in URLs.
const Resource = "leaderworkersets"

var (
	// SchemeGroupVersion is the group and version of the resource.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

	// GroupVersionKind is what controller references to a set carry.
	GroupVersionKind = SchemeGroupVersion.WithKind(Kind)

	// GroupVersionResource names the resource to dynamic clients.
	GroupVersionResource = SchemeGroupVersion.WithResource(Resource)

	schemeBuilder = runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(SchemeGroupVersion, &LeaderWorkerSet{}, &LeaderWorkerSetList{})
		metav1.AddToGroupVersion(s, SchemeGroupVersion)
		return nil
	})

	// AddToScheme registers the types of this package.
	AddToScheme = schemeBuilder.AddToScheme
)
