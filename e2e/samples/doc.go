// Package samples applies every manifest of deploy/samples with kubectl, as its comment
// says, on nodes that have what it needs, and looks at what the sample is there to show.
package samples
