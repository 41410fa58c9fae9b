// Package contract compares what the API server stores for a set, field by field,
// with what users and other software rely on: names, labels, annotations,
// environment, Services, revisions, status and events. Names of fields and keys
// are written out here, and values are worked out anew, so that a mistake in the
// controller's own constants shows. What happens over time is tested in package
// lifecycle.
package contract
