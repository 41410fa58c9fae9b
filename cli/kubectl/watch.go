package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// watch shows the status until the user ends it or the set is gone.
func (o *options) watch(cmd *cobra.Command, c *clients, name string, all bool) error {
	show := o.printChanges(cmd.OutOrStdout())
	if t := terminal(cmd); t != nil {
		show = o.redraw(t, all)
	}
	err := c.follow(cmd.Context(), name, func(n news) (bool, error) { return false, show(n) })
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// printChanges returns what prints a line for each change.
func (o *options) printChanges(out io.Writer) func(news) error {
	var last *Status
	trouble := ""
	return func(n news) error {
		status := newStatus(n.seen)
		lines := status.changes(last)
		if now := troubleLine(n.trouble); now != trouble {
			trouble = now
			if now == "" {
				now = "up to date again"
			}
			lines = append(lines, now)
		}
		last = status
		for _, line := range lines {
			if _, err := fmt.Fprintf(out, "%s  %s\n", o.now().Format("15:04:05"), line); err != nil {
				return err
			}
		}
		return nil
	}
}

func troubleLine(err error) string {
	if err == nil {
		return ""
	}
	return "may be out of date: " + oneLine(err.Error())
}

// redraw returns what draws the status in place, as much of it as the terminal holds.
func (o *options) redraw(terminal *os.File, all bool) func(news) error {
	drawn := 0
	return func(n news) error {
		width, height := size(terminal)
		// The last column stays free, since some terminals wrap there; so does the line
		// of the cursor.
		v := view{width: width - 1, now: o.now(), all: all}
		lines := newStatus(n.seen).render(v)
		if t := troubleLine(n.trouble); t != "" {
			lines = append(v.wrap("", t), lines...)
		}
		lines = cut(lines, v.width, height-1)
		var text strings.Builder
		if drawn > 0 {
			// A terminal that became lower has scrolled the first lines away.
			fmt.Fprintf(&text, "\x1b[%dA\r", min(drawn, height-1))
		}
		for _, line := range lines {
			text.WriteString(line + "\x1b[K\n")
		}
		text.WriteString("\x1b[J")
		drawn = len(lines)
		_, err := terminal.WriteString(text.String())
		return err
	}
}

// cut leaves as many lines as a terminal holds, each as wide as it is.
func cut(lines []string, width, height int) []string {
	if more := len(lines) - height + 1; more > 1 && height > 1 {
		lines = append(lines[:height-1:height-1], fmt.Sprintf("... and %d more lines", more))
	}
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:max(0, width)])
		}
		out = append(out, line)
	}
	return out
}
