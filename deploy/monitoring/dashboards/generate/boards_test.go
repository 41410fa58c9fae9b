package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// built are all dashboards, by file.
func built(t *testing.T) map[string]document {
	t.Helper()
	all, err := boards(runbook)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("%d dashboards", len(all))
	}
	return all
}

// panelsOf are those that are no headings.
func panelsOf(d document) []dashboard.Panel {
	var out []dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			out = append(out, *p.Panel)
		}
	}
	return out
}

// TestFilesAreFresh: what is in the folder is what is generated; nothing else is there.
func TestFilesAreFresh(t *testing.T) {
	if err := run(true); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := built(t)
	for _, f := range files {
		if _, ok := all[filepath.Base(f)]; !ok {
			t.Errorf("%s is not generated", f)
		}
	}
}

// TestRoundTrip: Grafana's types take each dashboard, field by field, and nothing is lost.
func TestRoundTrip(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for file, d := range built(t) {
		data, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		// The strict way to read names fields that are missing or unknown, but loses headings,
		// for which it returns an empty list as an error.
		var strict, again document
		if err := strict.UnmarshalJSONStrict(data); err != nil && err.Error() != "" {
			t.Errorf("%s: %v", file, err)
		}
		if err := json.Unmarshal(data, &again); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := again.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		back, err := encode(again)
		if err != nil {
			t.Fatal(err)
		}
		if was, is := sorted(t, data), sorted(t, back); was != is {
			t.Errorf("%s is not the same after it was read:\n%s", file, firstDifference(was, is))
		}
	}
}

// sorted is JSON with the keys in order: those of values without a type come back so.
func sorted(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func firstDifference(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return strings.Join(was[max(0, i-5):i+1], "\n") + "\nis now\n" + is[i]
		}
	}
	return "one ends earlier"
}

// unitsOfGrafana are those that Grafana has.
func unitsOfGrafana(t *testing.T) []string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/grafana/grafana-foundation-sdk/go/units").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "types_gen.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			s, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			out = append(out, s)
		}
		return true
	})
	return out
}

// TestPanels: each has a number of its own, a place that no other has, a title, words that
// say what to do, a unit that exists, and asks the data source that is chosen.
func TestPanels(t *testing.T) {
	known := unitsOfGrafana(t)
	for file, d := range built(t) {
		ids, taken, titles := map[uint32]bool{}, map[[2]uint32]string{}, map[string]bool{}
		for _, p := range d.Panels {
			id, pos, title := place(p)
			if ids[id] || id == 0 {
				t.Errorf("%s: %s: number %d is not its own", file, title, id)
			}
			ids[id] = true
			if pos.W == 0 || pos.H == 0 || pos.X+pos.W > gridWidth {
				t.Errorf("%s: %s: place %+v", file, title, pos)
			}
			for x := pos.X; x < pos.X+pos.W; x++ {
				for y := pos.Y; y < pos.Y+pos.H; y++ {
					if other, is := taken[[2]uint32{x, y}]; is {
						t.Fatalf("%s: %s and %s overlap", file, other, title)
					}
					taken[[2]uint32{x, y}] = title
				}
			}
		}
		for _, p := range panelsOf(d) {
			if *p.Title == "" || titles[*p.Title] && file != "runbook.json" {
				t.Errorf("%s: title %q is empty or not its own", file, *p.Title)
			}
			titles[*p.Title] = true
			if len(*p.Description) < 70 {
				t.Errorf("%s: %s: %q does not say what to do", file, *p.Title, *p.Description)
			}
			if p.Type == "text" {
				continue
			}
			if u := p.FieldConfig.Defaults.Unit; u == nil || !slices.Contains(known, *u) {
				t.Errorf("%s: %s: no unit, or one that Grafana does not have", file, *p.Title)
			}
			if len(p.Targets) == 0 || *p.Datasource.Uid != "${datasource}" {
				t.Errorf("%s: %s: %d queries, data source %s", file, *p.Title, len(p.Targets), *p.Datasource.Uid)
			}
		}
		unitsOfColumns(t, file, d, known)
	}
}

func place(p dashboard.PanelOrRowPanel) (uint32, dashboard.GridPos, string) {
	if p.Panel != nil {
		return *p.Panel.Id, *p.Panel.GridPos, *p.Panel.Title
	}
	return p.RowPanel.Id, *p.RowPanel.GridPos, *p.RowPanel.Title
}

func unitsOfColumns(t *testing.T, file string, d document, known []string) {
	t.Helper()
	for _, p := range panelsOf(d) {
		if p.FieldConfig == nil {
			continue
		}
		for _, o := range p.FieldConfig.Overrides {
			for _, v := range o.Properties {
				if v.Id == "unit" && !slices.Contains(known, v.Value.(string)) {
					t.Errorf("%s: %s: unit %v", file, *p.Title, v.Value)
				}
			}
		}
	}
}

var (
	toBoard   = regexp.MustCompile(`/d/([\w-]+)\?`)
	viewPanel = regexp.MustCompile(`/d/lws-runbook\?[^"]*viewPanel=(\d+)`)
	toVar     = regexp.MustCompile(`[&?]var-(\w+)=`)
)

// TestLinks: they lead to dashboards, panels and variables that exist, and each dashboard
// links to all others.
func TestLinks(t *testing.T) {
	all := built(t)
	variables, uids := map[string]map[string]bool{}, []string{}
	for _, d := range all {
		variables[*d.Uid] = map[string]bool{}
		uids = append(uids, *d.Uid)
		for _, v := range d.Templating.List {
			variables[*d.Uid][v.Name] = true
		}
	}
	texts := map[string]bool{}
	for _, p := range panelsOf(all["runbook.json"]) {
		if p.Type == "text" {
			texts[strconv.Itoa(int(*p.Id))] = true
		}
	}
	slices.Sort(uids)
	for file, d := range all {
		top := []string{*d.Uid}
		for _, l := range d.Links {
			top = append(top, toBoard.FindStringSubmatch(*l.Url)[1])
		}
		if slices.Sort(top); !slices.Equal(top, uids) {
			t.Errorf("%s links to %v, want all of %v", file, top, uids)
		}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), `\u0026`, "&")
		for _, url := range regexp.MustCompile(`"url":"([^"]*)"`).FindAllStringSubmatch(text, -1) {
			to := toBoard.FindStringSubmatch(url[1])
			if to == nil || variables[to[1]] == nil {
				t.Errorf("%s: %s leads nowhere", file, url[1])
				continue
			}
			for _, v := range toVar.FindAllStringSubmatch(url[1], -1) {
				if !variables[to[1]][v[1]] {
					t.Errorf("%s: %s: %s has no variable %s", file, url[1], to[1], v[1])
				}
			}
			if m := viewPanel.FindStringSubmatch(url[1]); m != nil && !texts[m[1]] {
				t.Errorf("%s: %s: panel %s of the runbook is no text", file, url[1], m[1])
			}
		}
	}
}

// TestRunbook: a panel's link leads to the words about that alert; no link to a file is
// left.
func TestRunbook(t *testing.T) {
	alerts, err := readAlerts(runbook)
	if err != nil {
		t.Fatal(err)
	}
	all := built(t)
	byID := map[int]dashboard.Panel{}
	for _, p := range panelsOf(all["runbook.json"]) {
		byID[int(*p.Id)] = p
	}
	linked := map[string]bool{}
	for _, d := range all {
		for _, p := range panelsOf(d) {
			for _, l := range p.Links {
				m := viewPanel.FindStringSubmatch(*l.Url)
				id, _ := strconv.Atoi(m[1])
				name := strings.TrimPrefix(l.Title, "Runbook: ")
				linked[name] = true
				if *byID[id].Title != name {
					t.Errorf("%s: the link to %s leads to %s", *p.Title, name, *byID[id].Title)
				}
			}
		}
	}
	for _, a := range alerts {
		if len(a.text) < 200 || strings.Contains(a.text, "](") {
			t.Errorf("%s: %s", a.name, a.text)
		}
		if !linked[a.name] {
			t.Errorf("no panel leads to %s", a.name)
		}
	}
	if got, want := named("[steering.md](steering.md#a-b)"), "docs/steering.md"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := named("[here](../README.md)"), "here (README.md)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLayout: panels go from left to right, and a row begins below the highest panel of
// the one before.
func TestLayout(t *testing.T) {
	p := func(title string, w, h uint32) panel {
		return panel{title: title, about: "-", width: w, height: h, look: words("")}
	}
	d, err := board{uid: "x", title: "x", rows: []row{
		{"one", []panel{p("a", 12, 4), p("b", 12, 6), p("c", 8, 2)}}, {"two", []panel{p("d", 24, 3)}},
	}}.build(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][4]uint32{}
	for _, p := range d.Panels {
		_, g, title := place(p)
		got[title] = [4]uint32{g.X, g.Y, g.W, g.H}
	}
	want := map[string][4]uint32{"one": {0, 0, 24, 1}, "a": {0, 1, 12, 4}, "b": {12, 1, 12, 6}, "c": {0, 7, 8, 2}, "two": {0, 9, 24, 1}, "d": {0, 10, 24, 3}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
