package v1

import "slices"

// DomainKeys are the keys of the node labels that all pods of a group share, by the
// annotations of its set or, once they exist, of its pods: exclusive-topology and
// colocate. A group whose pods carry none is not bound to a domain as a whole.
func DomainKeys(annotations map[string]string) []string {
	var keys []string
	for _, name := range []string{AnnotationExclusiveTopology, AnnotationColocate} {
		if key, ok := annotations[name]; ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
