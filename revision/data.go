package revision

import (
	"encoding/json"
	"errors"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1 "lws-controller/api/v1"
)

// ErrNotHistory means that the data records no LeaderWorkerSet. StatefulSets
// that the published controller made leave such ControllerRevisions behind,
// with the same labels.
var ErrNotHistory = errors.New("no spec.leaderWorkerTemplate in the data")

// FromSet is the content that the set's present spec asks for. It shares
// nothing with the set.
func FromSet(set *v1.LeaderWorkerSet) *Content {
	c := &Content{}
	set.Spec.LeaderWorkerTemplate.DeepCopyInto(&c.Template)
	if set.Spec.NetworkConfig != nil {
		set.Spec.NetworkConfig.DeepCopyInto(&c.Network)
	}
	if c.Network.SubdomainPolicy == nil {
		shared := v1.SubdomainShared
		c.Network.SubdomainPolicy = &shared
	}
	return c
}

// Data serialises content in the published format: a strategic merge patch that
// would put the content back into a set,
//
//	{"spec":{"leaderWorkerTemplate":{"$patch":"replace",...},
//	         "networkConfig":{"$patch":"replace",...}}}
//
// with sorted keys. Fields appear as the Go types write them, nothing is
// defaulted: the key is a hash of these bytes, and the published controller has
// to find its own spelling in them.
func Data(c *Content) ([]byte, error) {
	template, err := replacing(c.Template)
	if err != nil {
		return nil, fmt.Errorf("leaderWorkerTemplate: %w", err)
	}
	network, err := replacing(c.Network)
	if err != nil {
		return nil, fmt.Errorf("networkConfig: %w", err)
	}
	return json.Marshal(map[string]any{"spec": map[string]any{
		"leaderWorkerTemplate": template,
		"networkConfig":        network,
	}})
}

// replacing is the object's JSON with the directive that a patch replaces it as
// a whole. It goes through a tree so that keys are sorted on every level, whole
// numbers through int64 so that none is rounded.
func replacing(object any) (map[string]any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := utiljson.Unmarshal(encoded, &tree); err != nil {
		return nil, err
	}
	tree["$patch"] = "replace"
	return tree, nil
}

// Parse reads content back, from whichever version wrote it: a field that this
// version does not know is ignored, one that is absent is left unset, an absent
// networkConfig is Shared. ErrNotHistory: the data is something else's. Any
// other error: it should be history and cannot be read.
func Parse(data []byte) (*Content, error) {
	var probe struct {
		Spec struct {
			Template json.RawMessage `json:"leaderWorkerTemplate"`
		} `json:"spec"`
	}
	// Foreign data may have any shape; what does not even fit the probe records
	// no set.
	if err := utiljson.Unmarshal(data, &probe); err != nil || !isObject(probe.Spec.Template) {
		return nil, ErrNotHistory
	}
	var set v1.LeaderWorkerSet
	if err := utiljson.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("reading the recorded spec: %w", err)
	}
	return FromSet(&set), nil
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }
