// Package client is the typed access to LeaderWorkerSets: a client, an informer
// and a lister. All three are instances of client-go's own generics, so there
// is no generated code; what they do and how they fail is documented there.
//
// Only access to the API server belongs here. Types are in api/v1, what is made
// of a set's cache (filters, indexes, handlers) in informers.
package client
