package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	v1 "lws-controller/api/v1"
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

// jsonPatched applies a JSON patch (RFC 6902) to an object.
func jsonPatched[T any](o *T, patch []byte) (*T, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	if data, err = operations.Apply(data); err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(data, out)
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

// mergeStatus applies a JSON merge patch to a status, field by field: through maps,
// as above, it would be most of what a run costs.
func mergeStatus(s *v1.LeaderWorkerSetStatus, patch []byte) error {
	var p struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return err
	}
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		value, patched := p.Status[name]
		if !patched {
			continue
		}
		delete(p.Status, name)
		field := fields.Field(i)
		if string(value) == "null" || field.Kind() == reflect.Slice {
			field.SetZero()
		}
		if err := json.Unmarshal(value, field.Addr().Interface()); err != nil {
			return err
		}
	}
	if len(p.Status) > 0 {
		return fmt.Errorf("fields that a status has not: %v", slices.Sorted(maps.Keys(p.Status)))
	}
	return nil
}

// mergeConditions applies the one strategic merge patch that the controller makes to
// the status of a pod: conditions, merged by their type.
func mergeConditions(s *corev1.PodStatus, patch []byte) error {
	var p struct {
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
		Status struct {
			Conditions []corev1.PodCondition `json:"conditions"`
		} `json:"status"`
	}
	d := json.NewDecoder(bytes.NewReader(patch))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return err
	}
	for _, c := range p.Status.Conditions {
		i := slices.IndexFunc(s.Conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
		if i < 0 {
			s.Conditions = append(s.Conditions, c)
		} else {
			s.Conditions[i] = c
		}
	}
	return nil
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
