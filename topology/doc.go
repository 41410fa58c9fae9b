// Package topology says who is who and where: the names of groups, pods,
// services and claims, and the labels, annotations, environment and subgroups
// that follow from a pod's place in its set. It builds the objects that the
// controller creates.
//
// Everything here is a function of its arguments. A group is built from its own
// revision (see Group), never from the present spec of the set, and what is
// built for a revision must stay the same from one version of the controller to
// the next: a difference would make the pods of one group unlike each other.
// The golden files in testdata hold it still.
//
// No client, lister, clock, randomness, goroutine, context or logger.
package topology
