package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckOfTheLog(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      string // part of the error
	}{
		{"fine", "I1 Starting\nI2 Group changed phase\n", ""},
		{"race", "I1 Starting\n==================\nWARNING: DATA RACE\nRead at 0x1\n", "WARNING: DATA RACE\nRead at 0x1"},
		{"panic", "panic: runtime error\n", "panic: runtime error"},
		{"caught panic", `E1 "Observed a panic" panic="x"`, "Observed a panic"},
		{"undeclared move", "E1 \"Group made an undeclared move\" group=1\n", "group=1"},
		{"right that is missing", `E1 pods is forbidden: User "x" cannot patch`, "cannot patch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctl := &Controller{log: filepath.Join(t.TempDir(), "log")}
			if err := os.WriteFile(ctl.log, []byte(c.log), 0o600); err != nil {
				t.Fatal(err)
			}
			err := ctl.Check()
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestWithoutWorkloads(t *testing.T) {
	const in = "apiVersion: v1\nkind: ServiceAccount\n---\napiVersion: apps/v1\nkind: Deployment\n---\nkind: ClusterRole\nrules: []\n"
	out, err := withoutWorkloads([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); strings.Contains(got, "Deployment") || !strings.Contains(got, "kind: ServiceAccount") || !strings.Contains(got, "kind: ClusterRole") {
		t.Errorf("kept:\n%s", got)
	}
	if _, err := withoutWorkloads([]byte("kind: [")); err == nil {
		t.Error("no error for broken YAML")
	}
}
