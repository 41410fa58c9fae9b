// Package rbac reads the rights that this folder grants to the controller, as
// data, so that a test can hold them against the requests which an API server's
// audit log shows. A verb that is granted and never used is a hole; one that is
// used and not granted is an outage.
//
// The roles themselves are the YAML files: nothing in this package writes them,
// and the controller does not import it.
package rbac
