// Command crdtrim finishes the CRD that controller-gen writes: stdin to stdout.
//
// Two things cannot be said in markers, since they concern types of Kubernetes
// itself, embedded as pod templates and claim templates:
//
//   - Their descriptions go. They make nine tenths of the size, and with them
//     client-side "kubectl apply" cannot store the object in its annotation.
//     The fields that embed them keep their own descriptions.
//   - Their defaults go. A value that the API server adds makes the stored
//     object differ from the one sent, which clients that compare the two would
//     correct for ever; pods get these defaults anyway when they are created.
//     What remains is defaults of keys of map lists, which the API server
//     demands (ports[].protocol).
package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// embedded are the properties whose schema is a type of Kubernetes itself.
var embedded = []string{"leaderTemplate", "workerTemplate", "volumeClaimTemplates"}

type schema = map[string]any

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdtrim:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	template, err := dig(crd, "spec", "versions", 0, "schema", "openAPIV3Schema",
		"properties", "spec", "properties", "leaderWorkerTemplate", "properties")
	if err != nil {
		return err
	}
	for _, name := range embedded {
		field, ok := template[name].(schema)
		if !ok {
			return fmt.Errorf("no schema of %s", name)
		}
		description := field["description"]
		trim(field, false)
		field["description"] = description
	}
	data, err = yaml.Marshal(crd)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "# Generated from the markers in api/v1 by api/generate.sh. Do not edit.\n%s", data)
	return err
}

// dig follows property names and list indexes down from v.
func dig(v any, path ...any) (schema, error) {
	for i, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(schema)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil, fmt.Errorf("nothing at %v", path[:i+1])
			}
			v = l[s]
		}
	}
	m, ok := v.(schema)
	if !ok {
		return nil, fmt.Errorf("nothing at %v", path)
	}
	return m, nil
}

// trim removes descriptions and defaults from s and from all schemas below.
// isKey: s is a key of the list that it is in an item of.
func trim(s schema, isKey bool) {
	delete(s, "description")
	if !isKey {
		delete(s, "default")
	}
	if items, ok := s["items"].(schema); ok {
		keys, _ := s["x-kubernetes-list-map-keys"].([]any)
		trimObject(items, keys)
	}
	trimObject(s, nil)
}

// trimObject trims what is below an object, whose properties keys identify it
// within a list.
func trimObject(s schema, keys []any) {
	delete(s, "description")
	if properties, ok := s["properties"].(schema); ok {
		for name, p := range properties {
			trim(p.(schema), slices.Contains(keys, any(name)))
		}
	}
	if values, ok := s["additionalProperties"].(schema); ok {
		trim(values, false)
	}
}
