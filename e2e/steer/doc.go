// Package steer tests the annotations by which people steer a rollout: pause and
// resume, undo, restart, recreation of chosen groups, budgets that hold instead of
// the spec's, and what is said of a rollout that does not get on.
package steer
