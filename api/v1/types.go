package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LeaderWorkerSet runs groups of pods as units: each replica is a group of one
// leader and size-1 workers that is created, placed, updated and recreated as
// a whole.
//
// ---
// Rules at the root are evaluated on every write, of status, scale, labels and
// finalizers too, so each compares with the stored object (optionalOldSelf) and
// lets pass what that object already broke.
//
// The third rule: pod names are <set>-<group> and <set>-<group>-<worker>, and
// they are hostnames too, so that 63 is the limit. The highest group index is
// replicas-1, or more while groups surge. On update the longest name may stay
// as long as it was.
//
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !format.dns1035Label().validate(self.metadata.name).hasValue()",message="metadata.name must be a DNS-1035 label: at most 63 lower-case letters, digits and '-', starting with a letter and ending with a letter or digit",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || (oldSelf.hasValue() && has(oldSelf.value().spec) ? [[self, oldSelf.value()]] : [[self]]).map(v, v.map(s, [s.spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge].map(f, type(f) == int ? int(f) : f.matches('^[0-9]{1,9}%$') ? (int(f.split('%')[0]) * s.spec.replicas + 99) / 100 : 0).map(surge, size(s.metadata.name) + 1 + size(string([0, s.spec.replicas + [surge, s.spec.replicas].min() - 1].max())) + (s.spec.leaderWorkerTemplate.size > 1 ? 1 + size(string(s.spec.leaderWorkerTemplate.size - 1)) : 0))[0])).all(longest, longest[0] <= 63 || (size(longest) > 1 && longest[0] <= longest[1]))",message="metadata.name is too long: the longest pod name and hostname, <name>-<group index>-<worker index>, would have more than 63 characters (replicas and maxSurge determine the highest group index, size the highest worker index)",optionalOldSelf=true
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=lws
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.hpaPodSelector
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`,priority=1,description="Groups that exist"
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.leaderWorkerTemplate.size`,priority=1,description="Pods per group"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,priority=1,description="Whether every desired group is Ready and no update is in progress"
// +kubebuilder:printcolumn:name="Updating",type=string,JSONPath=`.status.conditions[?(@.type=="UpdateInProgress")].status`,priority=1,description="Whether a rolling update is in progress"
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.updateRevision`,priority=1,description="Revision of the present spec"
type LeaderWorkerSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +optional
	Spec LeaderWorkerSetSpec `json:"spec,omitempty"`
	// status is the observed state. It is written by the controller only.
	// +optional
	Status LeaderWorkerSetStatus `json:"status,omitempty"`
}

// LeaderWorkerSetList is a list of LeaderWorkerSets.
//
// +kubebuilder:object:root=true
type LeaderWorkerSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LeaderWorkerSet `json:"items"`
}
