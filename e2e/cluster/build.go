package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Binaries is a folder with the programs of a control plane.
type Binaries struct{ Dir string }

// Path returns the path of one program, e.g. "kubectl".
func (b Binaries) Path(name string) string { return filepath.Join(b.Dir, name) }

// typical says how long a program takes to build with an empty build cache on
// two cores; those that come later profit from what the earlier ones compiled.
var typical = map[string]time.Duration{
	"etcd":                    1 * time.Minute,
	"kwok":                    2 * time.Minute,
	"kubectl":                 1 * time.Minute,
	"kube-apiserver":          6 * time.Minute,
	"kube-scheduler":          1 * time.Minute,
	"kube-controller-manager": 2 * time.Minute,
}

const kwokModule = "sigs.k8s.io/kwok"

// stagesDir, beside the programs, holds the stages that kwok's module ships.
const stagesDir = "stages"

// Build returns the programs of the pinned versions, and builds those that the
// user's cache folder does not hold yet. That takes many minutes the first time,
// so it tells progress what it is at. Processes that call it at once wait for
// each other; one that is interrupted goes on next time where it stopped.
func Build(ctx context.Context, progress io.Writer) (Binaries, error) {
	src, err := pinnedModule()
	if err != nil {
		return Binaries{}, err
	}
	mod, err := readModule(ctx, src)
	if err != nil {
		return Binaries{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binaries{}, err
	}
	root := filepath.Join(cache, "lws-controller", "controlplane")
	whole := filepath.Join(root, mod.key())
	if isDir(whole) {
		return Binaries{whole}, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Binaries{}, err
	}
	lock, err := waitLock(ctx, whole+".lock", func() {
		fmt.Fprintln(progress, "control plane: another process is building it; waiting for that")
	})
	if err != nil {
		return Binaries{}, err
	}
	defer lock.Close()
	if isDir(whole) { // the other one has finished it
		return Binaries{whole}, nil
	}
	// The folder gets its final name only when everything is in it.
	partial := whole + ".partial"
	b := builder{mod: mod, src: src, out: partial, progress: progress, start: time.Now()}
	if err := b.run(ctx); err != nil {
		return Binaries{}, fmt.Errorf("building the control plane: %w", err)
	}
	return Binaries{whole}, os.Rename(partial, whole)
}

// pinnedModule finds the module with the versions next to this source file: a
// folder with its own go.mod cannot be embedded.
func pinnedModule() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(file), "binaries")
	if !ok || !isDir(dir) {
		return "", fmt.Errorf("no folder %q: the control plane is built from a checkout, by a program built without -trimpath", dir)
	}
	return dir, nil
}

// module is what `go mod edit -json` says about the pinned module.
type module struct {
	Require []struct{ Path, Version string }
	Replace []struct {
		New struct{ Path, Version string }
	}
	Tool []struct{ Path string }
	raw  []byte
}

func readModule(ctx context.Context, dir string) (module, error) {
	var m module
	out, err := goTool(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return m, err
	}
	m.raw = out
	return m, json.Unmarshal(out, &m)
}

func (m module) version(path string) string {
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

// key names the folder of the built programs: a new version or flag gets a new
// one, a new comment in go.mod does not.
func (m module) key() string {
	sum := sha256.New()
	sum.Write(m.raw)
	fmt.Fprint(sum, m.buildArgs(), runtime.GOOS, runtime.GOARCH)
	return fmt.Sprintf("%s-%x", m.version("k8s.io/kubernetes"), sum.Sum(nil)[:5])
}

// buildArgs tells the programs their version as a release does: without it the
// API server's /version says v0.0.0-master, and clients decide by it.
func (m module) buildArgs() []string {
	v := m.version("k8s.io/kubernetes")
	parts := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	flags := "-s -w"
	if len(parts) == 3 {
		const p = " -X k8s.io/component-base/version."
		flags += p + "gitVersion=" + v + p + "gitMajor=" + parts[0] + p + "gitMinor=" + parts[1] + p + "gitTreeState=clean"
	}
	return []string{"-trimpath", "-ldflags", flags}
}

type builder struct {
	mod      module
	src, out string
	progress io.Writer
	start    time.Time
}

func (b *builder) run(ctx context.Context) error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "control plane: building Kubernetes %s from source, once; about 10 minutes with an empty Go build cache on two cores, 2 with a warm one\n",
		b.mod.version("k8s.io/kubernetes"))
	for i, tool := range b.mod.Tool {
		if err := b.build(ctx, i, tool.Path); err != nil {
			return err
		}
	}
	dir, err := goTool(ctx, b.src, "list", "-m", "-f", "{{.Dir}}", kwokModule)
	if err != nil {
		return err
	}
	stages := filepath.Join(b.out, stagesDir)
	if err := os.RemoveAll(stages); err != nil { // of an interrupted run
		return err
	}
	return os.CopyFS(stages, os.DirFS(filepath.Join(string(bytes.TrimSpace(dir)), "kustomize", "stage")))
}

// build builds one program unless an interrupted run did.
func (b *builder) build(ctx context.Context, i int, pkg string) error {
	name := programName(pkg)
	target := filepath.Join(b.out, name)
	say := func(format string, args ...any) {
		fmt.Fprintf(b.progress, "control plane: [%d/%d] %s: %s (%s in all)\n", i+1, len(b.mod.Tool), name,
			fmt.Sprintf(format, args...), time.Since(b.start).Round(time.Second))
	}
	if _, err := os.Stat(target); err == nil {
		say("already built")
		return nil
	}
	say("building, up to %s", typical[name])
	start, done := time.Now(), make(chan error, 1)
	go func() {
		args := append([]string{"build", "-o", target + ".new"}, b.mod.buildArgs()...)
		_, err := goTool(ctx, b.src, append(args, pkg)...)
		done <- err
	}()
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			say("built in %s", time.Since(start).Round(time.Second))
			return os.Rename(target+".new", target)
		case <-tick.C:
			say("still building after %s", time.Since(start).Round(time.Second))
		}
	}
}

// programName is the last element of the package's path that is no version.
func programName(pkg string) string {
	if strings.HasPrefix(pkg, "go.etcd.io/etcd/server/") {
		return "etcd"
	}
	return path.Base(pkg)
}

// goTool runs the go command in dir and returns what it prints; its error
// output becomes part of the error.
func goTool(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// Asked to end, the go command ends its compilers too.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
	}
	return out, err
}

func isDir(p string) bool {
	fi, err := os.Stat(p)
	return err == nil && fi.IsDir()
}
