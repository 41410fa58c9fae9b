// Package mutant proves that the tests find what they are there to find: it plants
// bugs in the production code, one at a time, each of which would hurt somebody, and
// has the simulator or a scenario run until an invariant names it. A bug that
// survives is an invariant that is missing; one whose place in the code is gone has
// to be planted anew.
//
// There is nothing here but tests, and they take minutes:
//
//	make mutants
//	go test ./controller/mutant -mutants -run TestMutants/floor -v
package mutant
