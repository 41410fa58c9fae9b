package scenario

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lws-controller/controller/sim"
)

// play is one scenario under way.
type play struct {
	*teller
	script *sim.Script
	// paused: nothing happens by itself.
	paused bool
}

// command is what a line of a scenario may begin with.
type command func(p *play, a args) error

var commands = map[string]command{
	"advance": advance, "apply": apply, "crd": crd, "deliver": deliver, "delete": deleteObject, "edit": edit, "evict": evict,
	"fault": fault, "finalizer": finalizer, "journal": journal, "label": label, "lag": lag,
	"node": node, "nodes": nodes, "pause": pause,
	"pod": pod, "quota": quota, "rest": rest, "restart": restart, "resume": resume, "scale": scale,
	"settle": settle, "show": show, "squat": squat, "strip": strip, "sync": sync,
}

// Run plays the scenario of a file and compares what is told with what stands in
// it. A broken invariant fails the test also where the file expects it.
func Run(t *testing.T, path string) {
	p := &play{teller: newTeller()}
	p.script = sim.NewScript(p.teller)
	p.teller.now = p.script.Time
	defer p.script.End()
	p.flush()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		do, known := commands[d.Cmd]
		if !known {
			d.Fatalf(t, "there is no command %s", d.Cmd)
		}
		if err := do(p, args{d}); err != nil {
			p.line("error: %v", err)
		}
		return p.flush()
	})
	for _, v := range p.broken {
		t.Errorf("%s: an invariant does not hold: %s", path, v)
	}
	if n := p.script.Planned(); n > 0 {
		t.Errorf("%s: %d faults never came about", path, n)
	}
}

// moment is how long what a command does may work on by itself: long enough for
// counts in the status, which wait half a second for more, too short for
// anything that waits on purpose.
const moment = time.Second

// goOn lets what a command did take effect.
func (p *play) goOn() {
	if !p.paused {
		p.script.Pass(moment)
	}
}

// args are the arguments of a command: words, and keys with values.
type args struct{ *datadriven.TestData }

// words are the arguments without a value.
func (a args) words() []string {
	var out []string
	for _, arg := range a.CmdArgs {
		if len(arg.Vals) == 0 {
			out = append(out, arg.Key)
		}
	}
	return out
}

// exactly returns the words if there are so many.
func (a args) exactly(n int, usage string) ([]string, error) {
	if words := a.words(); len(words) == n {
		return words, nil
	}
	return nil, fmt.Errorf("usage: %s", usage)
}

// list is the values of a key.
func (a args) list(key string) []string {
	arg, _ := a.Arg(key)
	return arg.Vals
}

// text is the value of a key, or what it is without.
func (a args) text(key, otherwise string) string {
	if vals := a.list(key); len(vals) > 0 {
		return vals[0]
	}
	return otherwise
}

// number is the value of a key as a number, or what it is without.
func (a args) number(key string, otherwise int) (int, error) {
	return strconv.Atoi(a.text(key, strconv.Itoa(otherwise)))
}
