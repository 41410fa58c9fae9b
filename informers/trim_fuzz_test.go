package informers

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"lws-controller/controller/group"
)

// What is dropped of a pod changes nothing about what is observed of it, or about
// where it belongs, and dropping it again changes nothing at all.
func FuzzTrim(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a-0-1","uid":"u","labels":{"leaderworkerset.sigs.k8s.io/name":"a"},"annotations":{"leaderworkerset.sigs.k8s.io/size":"3","other":"x"},
		"managedFields":[{"manager":"m"}]},"spec":{"nodeName":"n","containers":[{"name":"c"}],"readinessGates":[{"conditionType":"leaderworkerset.x-k8s.io/GroupReady"}]},
		"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"ContainersReady","status":"True"}],"initContainerStatuses":[{"restartCount":1,"name":"i"}],
		"containerStatuses":[{"name":"c","image":"x","state":{"waiting":{"reason":"ErrImagePull"}}}],"ephemeralContainerStatuses":[{"restartCount":9}]}}`))
	f.Add([]byte(`{"metadata":{"name":"a-0","labels":{"leaderworkerset.sigs.k8s.io/name":"a","leaderworkerset.sigs.k8s.io/group-index":"0","leaderworkerset.sigs.k8s.io/template-revision-hash":"k"},
		"annotations":{"scheduling.k8s.io/group-name":"a-0-k"}},"spec":{"schedulerName":"volcano"}}`))
	f.Add([]byte(`{"metadata":{"name":"-0","labels":{"leaderworkerset.sigs.k8s.io/name":""}},"status":{"containerStatuses":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var pod corev1.Pod
		if json.Unmarshal(data, &pod) != nil {
			t.Skip("no pod")
		}
		before := group.ObservePod(&pod, 1)
		set, index, worker, ok := Place(&pod)
		trimmed, err := Trim(&pod)
		if err != nil {
			t.Fatal(err)
		}
		once := trimmed.(*corev1.Pod).DeepCopy()
		if after := group.ObservePod(once, 1); !reflect.DeepEqual(after, before) {
			t.Fatalf("observed as\n%+v\nnot\n%+v", after, before)
		}
		if s, i, w, o := Place(once); s != set || i != index || w != worker || o != ok || w < 0 || i < 0 {
			t.Fatalf("belongs to %v %d %d %t, not to %v %d %d %t", s, i, w, o, set, index, worker, ok)
		}
		if again, _ := Trim(once.DeepCopy()); !reflect.DeepEqual(again, once) {
			t.Fatal("trimming again changes it")
		}
	})
}
