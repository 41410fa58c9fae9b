// Package claims has the end-to-end tests about volumeClaimTemplates: claims that are
// made, kept, found again and deleted, by the real garbage collector.
package claims
