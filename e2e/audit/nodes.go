package audit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"lws-controller/e2e/cluster"
)

// nodePrefix is where etcd holds nodes.
const nodePrefix = "/registry/minions/"

// nodeState is what a node became at a resource version, nil if it was deleted. Nobody
// judges who writes nodes: only what they were is of interest.
type nodeState struct {
	version int64
	name    string
	node    *corev1.Node
}

// decodeNodes makes nodes of what etcd stored of them, oldest first.
func decodeNodes(history []cluster.Stored) ([]nodeState, error) {
	var out []nodeState
	for _, h := range history {
		name, ok := strings.CutPrefix(h.Key, nodePrefix)
		if !ok {
			continue
		}
		s := nodeState{version: h.Revision, name: name}
		if h.Value != nil {
			decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(h.Value, nil, nil)
			if err != nil {
				return nil, fmt.Errorf("%s at revision %d: %w", h.Key, h.Revision, err)
			}
			node, ok := decoded.(*corev1.Node)
			if !ok {
				return nil, fmt.Errorf("%s at revision %d: a %T was not expected", h.Key, h.Revision, decoded)
			}
			s.node = node
		}
		out = append(out, s)
	}
	return out, nil
}

// nodeSeen is the node of a pod as a live look showed it that was made just before
// something was stored, by name, nil if it was not there. Nothing is known where no
// history of nodes is.
func nodeSeen(nodes []nodeState, s *state) map[string]*corev1.Node {
	pod, ok := s.before.(*corev1.Pod)
	if !ok || len(nodes) == 0 {
		return nil
	}
	out := map[string]*corev1.Node{pod.Spec.NodeName: nil}
	for _, n := range slices.Backward(nodes) {
		if n.version < s.version && n.name == pod.Spec.NodeName {
			out[n.name] = n.node
			break
		}
	}
	return out
}
