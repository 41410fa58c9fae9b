package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// claims are what becomes of the claims of a set.
type claims struct {
	// there are those that exist, by name; nil: not known.
	there map[string]*corev1.PersistentVolumeClaim
	// made and gone are new ones, and those that go with their pods; taken those that
	// something else controls. Each is there once.
	made, gone, taken names
}

func (c *claims) populate(s *Snapshot) {
	if s.Claims == nil {
		return
	}
	c.there = map[string]*corev1.PersistentVolumeClaim{}
	for i := range s.Claims {
		c.there[s.Claims[i].Name] = &s.Claims[i]
	}
}

// condemn has claims go with their pod.
func (c *claims) condemn(names []string) {
	for _, name := range names {
		if _, exists := c.there[name]; exists {
			delete(c.there, name)
			c.gone.add(name)
		}
	}
}

// make has the claims of a pod exist.
func (c *claims) make(set *v1.LeaderWorkerSet, wanted []*corev1.PersistentVolumeClaim) {
	if c.there == nil {
		return
	}
	for _, want := range wanted {
		have, exists := c.there[want.Name]
		if !exists {
			c.there[want.Name] = want
			c.made.add(want.Name)
		} else if owner := metav1.GetControllerOfNoCopy(have); owner != nil && owner.UID != set.UID {
			c.taken.add(want.Name)
		}
	}
}

func (c *claims) attention() []string {
	var out []string
	say := func(n names, format string) {
		if len(n) > 0 {
			out = append(out, fmt.Sprintf(format, len(n))+n.String())
		}
	}
	say(c.gone, "claims that are deleted, with their data, as whenScaled says: %d")
	say(c.made, "claims that are made: %d")
	say(c.taken, "claims that something else controls, so that their pods wait: %d")
	return out
}

// names are some names, each once.
type names []string

func (n *names) add(name string) {
	for _, have := range *n {
		if have == name {
			return
		}
	}
	*n = append(*n, name)
}

// String is the first of them.
func (n names) String() string {
	const some = 6
	if len(n) > some {
		return " (" + strings.Join(n[:some], ", ") + ", ...)"
	}
	return " (" + strings.Join(n, ", ") + ")"
}
