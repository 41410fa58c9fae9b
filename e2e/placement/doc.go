// Package placement has the end-to-end tests about where the real scheduler puts the
// pods of a group: exclusively, in subgroups, or merely together.
package placement
