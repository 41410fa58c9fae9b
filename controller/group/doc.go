// Package group is the pure core that knows one group of pods: what has been
// observed of it (State, Fold), what that amounts to (View), the phase it is in
// (Phase, PhaseOf), which moves between phases are legal (transitions.go), and
// what has happened to it lately (Journal).
//
// The law of this package: whatever a plan depends on is the same whether the
// events of a group are folded one by one or its present pods are folded as if
// they had just been observed. History adds only times, causes, counters and
// log lines. So a restart with empty memory decides as the old process would.
//
// Nothing here does I/O, reads a clock, starts a goroutine or logs; a test on
// the imports enforces it.
package group
