package metrics

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResults(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{nil, "accepted"},
		{apierrors.NewAlreadyExists(pods, "a"), "exists"},
		{fmt.Errorf("pod a: %w", apierrors.NewConflict(pods, "a", errors.New("changed"))), "conflict"},
		{apierrors.NewNotFound(pods, "a"), "gone"},
		{apierrors.NewTooManyRequests("later", 1), "throttled"},
		{apierrors.NewForbidden(pods, "a", errors.New("quota")), "refused"},
		{apierrors.NewInternalError(errors.New("webhook")), "refused"},
		{apierrors.NewServiceUnavailable("down"), "error"},
		{context.DeadlineExceeded, "error"},
	} {
		if got := resultOf(tc.err); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
}
