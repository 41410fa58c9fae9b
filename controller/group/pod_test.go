package group

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "lws-controller/api/v1"
)

// TestIncarnationOfAPod: what no controller has written counts as absent, which
// is 0, the incarnation of adopted pods.
func TestIncarnationOfAPod(t *testing.T) {
	for value, want := range map[string]int64{
		"7": 7, "0": 0, "": 0, "x": 0, "-1": 0, "1.5": 0, "99999999999999999999": 0, "9223372036854775807": 0,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.AnnotationIncarnation: value}}}
		if got := ObservePod(pod, 0).Incarnation; got != want {
			t.Errorf("annotation %q is incarnation %d, want %d", value, got, want)
		}
	}
	if got := ObservePod(&corev1.Pod{}, 0).Incarnation; got != 0 {
		t.Errorf("a pod without the annotation is of incarnation %d", got)
	}
}
