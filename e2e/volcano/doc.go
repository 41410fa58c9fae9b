// Package volcano has the end-to-end tests of groups that Volcano places: PodGroups of
// it, on an API made after its documentation. Volcano is not there: a few lines here do
// what its scheduler promises.
package volcano
