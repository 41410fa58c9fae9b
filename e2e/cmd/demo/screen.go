package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen shows text, and below it one view that is drawn anew in place. Where
// the output is no terminal the view is a line for each change.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	size  func() (width, height int) // nil: not a terminal
	paint Painter

	start time.Time
	drawn int      // lines of the view that stand above the cursor
	last  Snapshot // shown last
}

// newScreen looks at what the output can do, and at NO_COLOR.
func newScreen(out *os.File) *screen {
	s := &screen{out: out, paint: Plain, start: time.Now()}
	fd := int(out.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return s
	}
	s.size = func() (int, int) {
		width, height, err := term.GetSize(fd)
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
	if os.Getenv("NO_COLOR") == "" {
		s.paint = Colours
	}
	return s
}

// Write adds text. A view that is there stays as it is, above the text.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = 0
	return s.out.Write(text)
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// show brings the view up to date.
func (s *screen) show(now Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	if s.size == nil {
		for _, line := range now.Changes(s.last) {
			fmt.Fprintf(&text, "%6.1fs  %s\n", time.Since(s.start).Seconds(), line)
		}
	} else {
		width, height := s.size()
		// The last column stays free, since some terminals wrap there; so does the
		// line of the cursor.
		lines := now.Frame(width-1, height-1, s.paint)
		if s.drawn > 0 {
			// A terminal that became lower has scrolled the first lines away.
			fmt.Fprintf(&text, "\x1b[%dA\r", min(s.drawn, height-1))
		}
		for _, line := range lines {
			text.WriteString(line + "\x1b[K\n")
		}
		text.WriteString("\x1b[J")
		s.drawn = len(lines)
	}
	s.last = now
	_, _ = io.WriteString(s.out, text.String()) // a closed output ends us by SIGPIPE
}
