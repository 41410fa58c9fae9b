package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	v1 "lws-controller/api/v1"
	"lws-controller/topology"
)

// unreadable is an API server that does not let claims be read.
type unreadable struct{ API }

func (unreadable) GetClaim(context.Context, types.NamespacedName) (*corev1.PersistentVolumeClaim, error) {
	return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data-s-0", errors.New("no rights"))
}

// Without the right to read claims a group that has some waits and says why, and a set
// without any asks for nothing.
func TestClaimsThatCannotBeRead(t *testing.T) {
	x := newExecution(1, clock.RealClock{})
	recorder := events.NewFakeRecorder(1)
	x.API, x.Recorder = unreadable{}, recorder
	x.m = newMemory(types.NamespacedName{Namespace: "ns", Name: "s"})
	x.m.set = &v1.LeaderWorkerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
	template := &v1.LeaderWorkerTemplate{}
	g := &topology.Group{Set: x.m.set, Template: template}
	if err := x.ensureClaims(t.Context(), g, 0); err != nil || len(x.m.held) != 0 {
		t.Fatalf("without claims: %v, held %v", err, x.m.held)
	}
	template.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	if err := x.ensureClaims(t.Context(), g, 0); !errors.Is(err, errHeld) || x.m.held[0].reason != "FailedCreate" {
		t.Errorf("%v, held %v", err, x.m.held)
	}
	select {
	case e := <-recorder.Events:
		if !strings.Contains(e, "FailedCreate") || !strings.Contains(e, "data-s-0") {
			t.Errorf("event %q", e)
		}
	default:
		t.Error("no event")
	}
}
