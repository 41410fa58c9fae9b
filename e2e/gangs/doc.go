// Package gangs has the end-to-end tests of native scheduling: groups that the real
// scheduler places as one, and clusters that cannot.
package gangs
