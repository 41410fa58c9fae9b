// Package rollout tests rolling updates on a real control plane: that budgets hold
// at every instant of the recorded history, and that every update ends.
package rollout
