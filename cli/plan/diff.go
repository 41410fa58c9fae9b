package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "lws-controller/api/v1"
)

// steeringPrefix is that of the annotations by which people steer rollouts.
var steeringPrefix = strings.TrimSuffix(v1.AnnotationPaused, "paused")

// changes tells what differs between two sets, as far as it matters for their groups:
// one line a field.
func changes(before, after *v1.LeaderWorkerSet) []string {
	if before == nil {
		return []string{"the set is new"}
	}
	var out []string
	diff(&out, "", tree(before.Spec), tree(after.Spec))
	diff(&out, "annotations", steering(before), steering(after))
	return out
}

func tree(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return err.Error()
	}
	return out
}

func steering(set *v1.LeaderWorkerSet) any {
	out := map[string]any{}
	for key, value := range set.Annotations {
		if strings.HasPrefix(key, steeringPrefix) {
			out[key] = value
		}
	}
	return out
}

func diff(out *[]string, path string, a, b any) {
	if reflect.DeepEqual(a, b) {
		return
	}
	x, y := fields(a), fields(b)
	if x == nil || y == nil {
		*out = append(*out, fmt.Sprintf("%s: %s → %s", path, short(a), short(b)))
		return
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name := key
		switch {
		case strings.HasPrefix(key, "["):
			name = path + key
		case path != "":
			name = path + "." + key
		}
		diff(out, name, x[key], y[key])
	}
}

// fields are the parts of an object, or of a list whose items have names.
func fields(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		out := map[string]any{}
		for _, item := range v {
			object, _ := item.(map[string]any)
			name, ok := object["name"].(string)
			if !ok {
				return nil
			}
			out["["+name+"]"] = item
		}
		return out
	default:
		return nil
	}
}

// maxShown is how much of a value is shown, in bytes.
const maxShown = 80

func short(v any) string {
	if v == nil {
		return "nothing"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(data) > maxShown {
		return strings.ToValidUTF8(string(data[:maxShown-3]), "") + "..."
	}
	return string(data)
}
