package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lws-controller/e2e/cluster"
)

// built is the controller of this test process, built once.
var built = sync.OnceValues(buildController)

// sourceDir is the folder of the main module.
var sourceDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "lws-controller").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the main module: %w%s", err, stderrOf(err))
	}
	return strings.TrimSpace(string(out)), nil
})

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// buildController builds the controller with the race detector into the user's
// cache folder, where the next test process need not link it again, and returns
// the path of a copy that no other process replaces.
func buildController() (string, error) {
	source, err := sourceDir()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "lws-controller", "e2e")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := waitForLock(filepath.Join(dir, "build.lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	program := filepath.Join(dir, "lws-controller-race")
	// Without the version control's stamp a commit alone changes nothing.
	cmd := exec.Command("go", "build", "-C", source, "-race", "-buildvcs=false", "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the controller: %w\n%s", err, out)
	}
	private, err := os.MkdirTemp("", "lws-controller-")
	if err != nil {
		return "", err
	}
	own := filepath.Join(private, "lws-controller")
	if os.Link(program, own) == nil {
		return own, nil
	}
	return own, copyProgram(program, own)
}

// removeBuilt removes the private copy.
func removeBuilt() {
	if program, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// buildTimeout is how long another process may be building: from nothing, with
// the race detector, on two busy cores.
const buildTimeout = 10 * time.Minute

func waitForLock(path string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	for {
		lock, err := cluster.TryLock(path)
		if !errors.Is(err, cluster.ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", path, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
