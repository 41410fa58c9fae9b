package plan

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	v1 "lws-controller/api/v1"
)

// Change is what somebody means to do to a set.
type Change struct {
	Namespace, Name string
	// Manifest is what would be applied, as JSON; nil: only annotations change.
	Manifest []byte
	// Annotations are set, or taken off where the value is nil.
	Annotations map[string]*string
}

// ReadManifest finds the one LeaderWorkerSet in YAML or JSON documents.
func ReadManifest(in io.Reader) (Change, error) {
	var c Change
	for r := utilyaml.NewYAMLReader(bufio.NewReader(in)); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, err
		}
		data, err := utilyaml.ToJSON(doc)
		if err != nil {
			return c, err
		}
		if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
			continue
		}
		var object unstructured.Unstructured
		if err := json.Unmarshal(data, &object.Object); err != nil {
			return c, err
		}
		if object.GroupVersionKind() != v1.GroupVersionKind {
			continue
		}
		if c.Manifest != nil {
			return c, fmt.Errorf("there is more than one LeaderWorkerSet (%s, %s): plan them one by one", c.Name, object.GetName())
		}
		if object.GetName() == "" {
			return c, errors.New("the LeaderWorkerSet has no name")
		}
		c = Change{Namespace: object.GetNamespace(), Name: object.GetName(), Manifest: data}
	}
	if c.Manifest == nil {
		return c, fmt.Errorf("there is no LeaderWorkerSet (%s) in it", v1.SchemeGroupVersion)
	}
	return c, nil
}

// ReadAnnotations reads key=value, and key- for one that is to be taken off. A key
// without a prefix is one of those that steer rollouts.
func ReadAnnotations(args []string) (map[string]*string, error) {
	out := map[string]*string{}
	for _, arg := range args {
		key, value, given := strings.Cut(arg, "=")
		taken, off := strings.CutSuffix(key, "-")
		if given == off || taken == "" {
			return nil, fmt.Errorf("%q is neither key=value nor key-", arg)
		}
		if !strings.Contains(taken, "/") {
			taken = steeringPrefix + taken
		}
		out[taken] = nil
		if given {
			out[taken] = &value
		}
	}
	return out, nil
}

// patch is the merge patch that `kubectl apply` would send, with the annotations.
func (c *Change) patch(live []byte) ([]byte, error) {
	patch := map[string]any{}
	if c.Manifest != nil {
		var object unstructured.Unstructured
		if err := json.Unmarshal(live, &object.Object); err != nil {
			return nil, err
		}
		last := []byte(object.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
		applied, err := c.applied()
		if err != nil {
			return nil, err
		}
		data, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, applied, live)
		if err != nil {
			return nil, fmt.Errorf("comparing the manifest with the stored set: %w", err)
		}
		if err := json.Unmarshal(data, &patch); err != nil {
			return nil, err
		}
	}
	return json.Marshal(c.annotated(patch))
}

// applied is the manifest with the annotation in which `kubectl apply` keeps it. Without
// that, a manifest that no longer has annotations would take off those of others too.
func (c *Change) applied() ([]byte, error) {
	var object unstructured.Unstructured
	if err := json.Unmarshal(c.Manifest, &object.Object); err != nil {
		return nil, err
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(c.Manifest)
	object.SetAnnotations(annotations)
	return json.Marshal(object.Object)
}

// create is the object that `kubectl apply` would create.
func (c *Change) create() ([]byte, error) {
	object := map[string]any{}
	if err := json.Unmarshal(c.Manifest, &object); err != nil {
		return nil, err
	}
	c.annotated(object)
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		if value == nil {
			delete(annotations, key)
		}
	}
	return json.Marshal(object)
}

func (c *Change) annotated(object map[string]any) map[string]any {
	if len(c.Annotations) == 0 {
		return object
	}
	into := func(parent map[string]any, key string) map[string]any {
		child, ok := parent[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			parent[key] = child
		}
		return child
	}
	annotations := into(into(object, "metadata"), "annotations")
	for key, value := range c.Annotations {
		annotations[key] = nil
		if value != nil {
			annotations[key] = *value
		}
	}
	return object
}
