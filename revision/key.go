package revision

import (
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"
)

// Key is the key of data that has none yet. The alphabet is that of generated
// pod name suffixes, without vowels, so that no words come about.
func Key(data []byte) string {
	h := fnv.New32()
	h.Write(data) // never fails
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}
