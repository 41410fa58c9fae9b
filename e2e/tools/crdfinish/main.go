// Command crdfinish finishes the CRD that controller-gen writes: stdin to
// stdout. It does what markers cannot say, since it concerns types of Kubernetes
// itself, embedded as pod templates and claim templates:
//
//   - Their descriptions go. They make nine tenths of the size, and with them
//     client-side "kubectl apply" cannot store the object in its annotation.
//     The fields that embed them keep their own descriptions.
//   - Their defaults go. A value that the API server adds makes the stored
//     object differ from the one sent, which clients that compare the two would
//     correct for ever; pods get these defaults anyway when they are created.
//     What remains is defaults of keys of map lists, which the API server
//     demands (ports[].protocol, imagePullSecrets[].name).
//   - Their numbers, quantities and times are narrowed to what the Go types can
//     hold. One stored object that a typed client cannot decode stops its lists
//     and watches, so that one user's typing error would stop the controller
//     for everyone.
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

// Patterns of resource quantities: as controller-gen writes it, and as they can
// be parsed. The first allows a fraction in the exponent, and exponents of any
// size, which take minutes to expand.
const (
	looseQuantity  = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	strictQuantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?0*[0-9]{1,2}))?$`
)

// upperTime is RFC 3339 with the T and Z in capitals, which Go insists on and
// format date-time does not.
const upperTime = `^[-0-9]+T[:.0-9]+(Z|[-+][:0-9]+)$`

type schema = map[string]any

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crdfinish:", err)
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
		if err := finish(field, false); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
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

// finish changes s and all schemas below it. isKey: s is a key of the list that
// it stands in an item of.
func finish(s schema, isKey bool) error {
	delete(s, "description")
	if !isKey {
		delete(s, "default")
	}
	if err := narrow(s); err != nil {
		return err
	}
	if items, ok := s["items"].(schema); ok {
		keys, _ := s["x-kubernetes-list-map-keys"].([]any)
		if err := finishValue(items, keys); err != nil {
			return err
		}
	}
	return finishProperties(s, nil)
}

// finishValue finishes an item of a list that keys identify it in.
func finishValue(s schema, keys []any) error {
	if _, isObject := s["properties"]; !isObject {
		return finish(s, false)
	}
	delete(s, "description")
	return finishProperties(s, keys)
}

// finishProperties finishes what is below an object.
func finishProperties(s schema, keys []any) error {
	properties, _ := s["properties"].(schema)
	for name, p := range properties {
		if err := finish(p.(schema), slices.Contains(keys, any(name))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if values, ok := s["additionalProperties"].(schema); ok {
		return finish(values, false)
	}
	return nil
}

// narrow bounds a value to what its Go type can hold.
func narrow(s schema) error {
	pattern, hasPattern := s["pattern"]
	switch {
	case s["format"] == "date-time":
		s["pattern"] = upperTime
	case s["x-kubernetes-int-or-string"] != true:
	case !hasPattern: // intstr.IntOrString
		s["minimum"], s["maximum"] = -1<<31, 1<<31-1
	case pattern == looseQuantity:
		s["pattern"] = strictQuantity
	default:
		return fmt.Errorf("unknown pattern %q: is it still a quantity?", pattern)
	}
	return nil
}
