package rollout

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "lws-controller/api/v1"
)

func TestReadSteering(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { v := intstr.FromInt32(n); return &v }
	percent := func(s string) *intstr.IntOrString { v := intstr.FromString(s); return &v }
	groups := []struct {
		value string
		want  *intstr.IntOrString
	}{{"0", number(0)}, {"7", number(7)}, {"999999999", number(999999999)}, {"0%", percent("0%")}, {"100%", percent("100%")},
		{"0050%", percent("50%")}, {"1000000000", nil}, {"101%", nil}, {"-1", nil}, {"+1", nil}, {"1.5", nil}, {"%", nil}, {"", nil}}
	// A want of nil is a value without effect.
	type row struct {
		key, value string
		want       func(*Steering)
	}
	var rows []row
	add := func(key, value string, want func(*Steering)) { rows = append(rows, row{key, value, want}) }
	for _, g := range groups {
		var partition, unavailable, surge func(*Steering)
		if g.want != nil {
			partition = func(s *Steering) { s.Partition = g.want }
			unavailable = func(s *Steering) { s.MaxUnavailable = g.want }
			surge = func(s *Steering) { s.MaxSurge = g.want }
		}
		add(v1.AnnotationPartition, g.value, partition)
		add(v1.AnnotationMaxUnavailable, g.value, unavailable)
		add(v1.AnnotationMaxSurge, g.value, surge)
	}
	add(v1.AnnotationPaused, "true", func(s *Steering) { s.Paused = true })
	for _, bad := range []string{"", "false", "True", "yes"} {
		add(v1.AnnotationPaused, bad, nil)
		add(v1.AnnotationRecover, bad, nil)
	}
	add(v1.AnnotationRecover, "true", func(s *Steering) { s.Recover = true })
	for value, want := range map[string]time.Duration{"0s": 0, "100ms": 100 * time.Millisecond, "1h30m": 90 * time.Minute, "30m1h": 90 * time.Minute,
		"1.5h": 90 * time.Minute, "99999h99999h99999h": 299997 * time.Hour} {
		add(v1.AnnotationMinReady, value, func(s *Steering) { s.MinReady = want })
		if want > 0 {
			add(v1.AnnotationProgressDeadline, value, func(s *Steering) { s.ProgressDeadline = want })
		} else {
			add(v1.AnnotationProgressDeadline, value, nil)
		}
	}
	for _, bad := range []string{"", "0", "30", "-1s", "+1s", "1d", "1us", ".5s", "999999h", "1s1s1s1s"} {
		add(v1.AnnotationMinReady, bad, nil)
		add(v1.AnnotationProgressDeadline, bad, nil)
	}
	for value, want := range map[string]time.Duration{"30s": 30 * time.Second, "1m30s": 90 * time.Second, "30000ms": 30 * time.Second} {
		add(v1.AnnotationForceDeleteAfter, value, func(s *Steering) { s.ForceDeleteAfter = want })
	}
	for _, bad := range []string{"", "0s", "29s", "29999ms", "-5m", "5", "1d"} {
		add(v1.AnnotationForceDeleteAfter, bad, nil)
	}
	ten := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Time{"2026-12-01T10:00:00Z": ten, "2026-12-01T12:00:00+02:00": ten, "2026-12-01T10:00:00.5Z": ten.Add(500 * time.Millisecond)} {
		add(v1.AnnotationRestartedAt, value, func(s *Steering) { s.RestartedAt = want })
		add(v1.AnnotationRecycle, "3,5-7@"+value, func(s *Steering) {
			s.Recycle = RecycleRequest{Groups: []IndexRange{{3, 3}, {5, 7}}, At: want}
		})
	}
	for _, bad := range []string{"", "now", "2026-12-01", "2026-02-29T10:00:00Z", "2026-12-01t10:00:00z", "2026-12-01T10:00:00", "2026-12-01T24:00:00Z",
		"2026-12-01T10:00:60Z", "2026-12-01T10:00:00,5Z", "2026-12-01T10:00:00+24:00"} {
		add(v1.AnnotationRestartedAt, bad, nil)
		add(v1.AnnotationRecycle, "3@"+bad, nil)
	}
	for _, bad := range []string{"", "a", "7-5", "5-", "-5", "1-2-3", "3,", " 3", "10000000"} {
		add(v1.AnnotationRecycle, bad+"@2026-12-01T10:00:00Z", nil)
	}
	add(v1.AnnotationRecycle, "3", nil)
	for _, good := range []string{"previous", "3", "999999999999999999"} {
		add(v1.AnnotationUndo, good, func(s *Steering) { s.Undo = good })
	}
	for _, bad := range []string{"", "0", "03", "+1", "-1", "1000000000000000000", "Previous"} {
		add(v1.AnnotationUndo, bad, nil)
	}
	add(v1.AnnotationHistoryLimit, "0", func(s *Steering) { s.HistoryLimit = 0 })
	add(v1.AnnotationHistoryLimit, "999999999", func(s *Steering) { s.HistoryLimit = 999999999 })
	for _, bad := range []string{"", "-1", "all", "1000000000"} {
		add(v1.AnnotationHistoryLimit, bad, nil)
	}
	add(v1.AnnotationDisruptionBudget, "1", func(s *Steering) { s.DisruptionBudget = 1 })
	add(v1.AnnotationDisruptionBudget, "999999999", func(s *Steering) { s.DisruptionBudget = 999999999 })
	for _, bad := range []string{"", "0", "000", "-1", "10%", "one", "1000000000"} {
		add(v1.AnnotationDisruptionBudget, bad, nil)
	}
	for _, row := range rows {
		t.Run(strings.TrimPrefix(row.key, "rollout.leaderworkerset.x-k8s.io/")+"="+row.value, func(t *testing.T) {
			want := Steering{HistoryLimit: DefaultHistoryLimit}
			if row.want != nil {
				row.want(&want)
			}
			got, problems := ReadSteering(map[string]string{row.key: row.value, "example.com/other": "x"})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if (len(problems) > 0) != (row.want == nil) || len(problems) == 1 && (problems[0].Annotation != row.key || problems[0].Value != row.value) {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

// One annotation that cannot be read does not harm the others, and all of them are
// told of, in order.
func TestReadSteeringTogether(t *testing.T) {
	got, problems := ReadSteering(map[string]string{v1.AnnotationPaused: "yes", v1.AnnotationMinReady: "5s", v1.AnnotationMaxSurge: "many"})
	if got.MinReady != 5*time.Second || got.Paused || got.MaxSurge != nil {
		t.Errorf("got %+v", got)
	}
	want := []string{
		`annotation rollout.leaderworkerset.x-k8s.io/max-surge: "many" has no effect: it must be a number of groups or a percentage up to 100%, like 2 or 25%`,
		`annotation rollout.leaderworkerset.x-k8s.io/paused: "yes" has no effect: it must be "true"`,
	}
	var said []string
	for _, p := range problems {
		said = append(said, p.Error())
	}
	if !reflect.DeepEqual(said, want) {
		t.Errorf("got %q\nwant %q", said, want)
	}
}
