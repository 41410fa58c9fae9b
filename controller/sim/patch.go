package sim

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// preconditions reads the UID and the resourceVersion that a patch carries: the
// API server takes them as such.
func preconditions(patch []byte, r request) (request, error) {
	var p struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(patch, &p)
	r.uid, r.version = p.Metadata.UID, p.Metadata.ResourceVersion
	return r, err
}

// mergePatched applies a JSON merge patch (RFC 7386) to an object.
func mergePatched[T any](o *T, patch []byte) (*T, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var target, p map[string]any
	if err := json.Unmarshal(data, &target); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return nil, err
	}
	merge(target, p)
	return decoded[T](target)
}

func merge(target, patch map[string]any) {
	for key, value := range patch {
		if value == nil {
			delete(target, key)
			continue
		}
		into, isMap := target[key].(map[string]any)
		from, isPatch := value.(map[string]any)
		switch {
		case isMap && isPatch:
			merge(into, from)
		case isPatch:
			into = map[string]any{}
			merge(into, from)
			target[key] = into
		default:
			target[key] = value
		}
	}
}

func decoded[T any](from map[string]any) (*T, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(data, out)
}

// strategicPatched applies a strategic merge patch to an object.
func strategicPatched[T any](o *T, patch []byte) (*T, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergePatch(data, patch, o)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(merged, out)
}
