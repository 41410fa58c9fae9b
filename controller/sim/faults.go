package sim

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// call is one request of a controller process.
type call struct {
	what string
	// name is that of the pod to be created.
	name  string
	write bool
}

// Fault is what goes wrong with a request.
type Fault string

// The faults. A crash lets no further request of the process through, which is
// all that the world sees of a crash.
const (
	noFault         Fault = ""
	crashBefore     Fault = "crash before"
	crashAfter      Fault = "crash after"
	unanswered      Fault = "committed without an answer"
	conflict        Fault = "409"
	tooManyRequests Fault = "429"
	internalError   Fault = "500"
	forbidden       Fault = "403"
	timedOut        Fault = "timeout"
	unreachable     Fault = "unreachable"
)

// crashes and failures are the faults by what is left of the process.
var (
	crashes  = []Fault{crashBefore, crashAfter}
	failures = []Fault{unanswered, conflict, tooManyRequests, internalError, timedOut, unreachable}
)

var errDead = errors.New("the process has crashed")

// err is the answer that the controller gets instead.
func (f Fault) err(c call) error {
	gr := schema.GroupResource{Resource: "simulated"}
	switch f {
	case conflict:
		return apierrors.NewConflict(gr, c.what, errors.New("simulated"))
	case tooManyRequests:
		return apierrors.NewTooManyRequests("simulated", 1)
	case internalError:
		return apierrors.NewInternalError(errors.New("simulated"))
	case forbidden:
		return apierrors.NewForbidden(gr, c.what, errors.New("simulated"))
	case timedOut, unanswered:
		return apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "post", gr, c.what, "simulated", 0, true)
	default:
		return errors.New("simulated: connection refused")
	}
}
