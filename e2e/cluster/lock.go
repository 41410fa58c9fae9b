package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked is returned by TryLock when somebody else holds the lock.
var ErrLocked = errors.New("locked by another process")

// TryLock takes an exclusive lock on the file, creating it if needed, and
// returns the open file: closing it, or the end of the process, frees the lock.
// Children don't inherit it. The file itself stays.
func TryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// waitLock takes the lock when it becomes free; onWait is called once if it is
// not free at first.
func waitLock(ctx context.Context, path string, onWait func()) (*os.File, error) {
	for first := true; ; first = false {
		f, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return f, err
		}
		if first {
			onWait()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
