package topology_test

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// What stands in testdata/by-hand.txt was worked out by hand. Both the package and the
// twin must say the same; neither may write it.
func TestByHand(t *testing.T) {
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		t.Skip("worked out by hand, and so to be changed by hand")
	}
	rows := 0
	datadriven.RunTest(t, "testdata/by-hand.txt", func(t *testing.T, d *datadriven.TestData) string {
		rows++
		r, wanted := handRow(t, d)
		if twin := wanted(r.expect()); twin != d.Expected {
			t.Errorf("%s: the twin says\n%s", d.Pos, twin)
		}
		return wanted(shown(group(r).Pod(int32(r.pod))))
	})
	if rows < 25 {
		t.Errorf("%d rows", rows)
	}
}

// handRow reads the command `pod`: which pod, and which lines of it are wanted.
func handRow(t *testing.T, d *datadriven.TestData) (r row, wanted func([]string) string) {
	t.Helper()
	if d.Cmd != "pod" {
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	base, dividing, index := row{namespace: "ai", set: "llm", revision: "7c9f8d", incarnation: 1}, row{}, 0
	layout, place, only, show := "none", "none", "", []string(nil)
	words := map[string]*string{"ns": &base.namespace, "set": &base.set, "claim": &base.claim, "recycled": &base.recycled,
		"tpu": &layout, "place": &place, "only": &only}
	numbers := map[string]*int{"group": &base.group, "index": &index, "size": &dividing.size, "by": &dividing.per}
	flags := map[string]*bool{"unique": &base.unique, "excluded": &dividing.excluded}
	for _, arg := range d.CmdArgs {
		switch {
		case arg.Key == "show":
			show = arg.Vals
		case words[arg.Key] != nil && len(arg.Vals) == 1:
			*words[arg.Key] = arg.Vals[0]
		case numbers[arg.Key] != nil && len(arg.Vals) == 1:
			n, err := strconv.Atoi(arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%s: %v", arg.Key, err)
			}
			*numbers[arg.Key] = n
		case flags[arg.Key] != nil && len(arg.Vals) == 0:
			*flags[arg.Key] = true
		default:
			d.Fatalf(t, "argument %s", arg)
		}
	}
	at := slices.IndexFunc(placements, func(p placement) bool { return p.name == place })
	if at < 0 {
		d.Fatalf(t, "no placement %s", place)
	}
	r = placed(base, dividing, layout, placements[at])
	r.pod = index
	return r, func(lines []string) string {
		var out strings.Builder
		for _, line := range lines {
			kind, _, _ := strings.Cut(line, " ")
			if (len(show) == 0 || slices.Contains(show, kind)) && strings.Contains(line, only) {
				out.WriteString(line + "\n")
			}
		}
		return out.String()
	}
}
