package contract

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lws-controller/e2e/cluster"
	"lws-controller/e2e/harness"
)

// env is shared by all tests.
var env *harness.Env

func TestMain(m *testing.M) {
	// With its own limits the garbage collector would be what takes time.
	os.Exit(harness.Main(m, cluster.Options{RaisedLimits: true}, &env))
}

func sha1Hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// ownedBy is the one owner reference of everything that a set controls.
func ownedBy(set *harness.Set) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: set.Name, UID: set.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// raw reads the set, or a subresource of it, as the JSON that clients get.
func raw(t *testing.T, set *harness.Set, subresource ...string) map[string]any {
	t.Helper()
	data, err := env.Sets.RESTClient().Get().Namespace(set.Namespace).Resource("leaderworkersets").
		Name(set.Name).SubResource(subresource...).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("reading %s %v: %v", set.Name, subresource, err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// itoa is how numbers stand in labels and names.
func itoa[N ~int | ~int32](n N) string { return fmt.Sprint(n) }
