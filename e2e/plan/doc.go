// Package plan holds the tests that the command plan tells the truth: each case is
// planned, then done, and what the control plane went through is compared with what
// was said (order of the teardowns, surge groups, least number of Ready groups).
package plan
