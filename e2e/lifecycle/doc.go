// Package lifecycle tests what happens to the groups of a set over time: creation,
// scaling, deletion, adoption, names that others hold, and failures; and how many
// requests each of these costs. What the objects look like is tested in package
// contract.
package lifecycle
