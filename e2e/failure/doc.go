// Package failure tests on a real control plane what happens when pods fail: that a group
// is recreated once for each failure and no more, under each restart policy, with
// backoff and budget, also where the CRD drops what is put on record.
package failure
