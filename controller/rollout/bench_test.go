package rollout

import (
	"testing"

	"lws-controller/controller/group"
)

func BenchmarkPlan1000(b *testing.B) {
	groups := make([]group.View, 1000)
	for i := range groups {
		groups[i] = served(int32(i), "b", 8)
	}
	in := input(1000, groups...)
	b.ReportAllocs()
	for b.Loop() {
		Make(in)
	}
}
