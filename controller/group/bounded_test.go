package group

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBounded: what a kubelet says may be long, and is cut off between characters.
func TestBounded(t *testing.T) {
	for _, message := range []string{"", "short", strings.Repeat("a", maxTrouble), strings.Repeat("ä", maxTrouble), "a" + strings.Repeat("ä", maxTrouble)} {
		got := bounded(message)
		switch {
		case len(got) > maxTrouble || !utf8.ValidString(got):
			t.Errorf("%d bytes become %d, valid: %v", len(message), len(got), utf8.ValidString(got))
		case len(message) <= maxTrouble && got != message:
			t.Errorf("%q becomes %q", message, got)
		case len(message) > maxTrouble && !strings.HasSuffix(got, "..."):
			t.Errorf("%q does not show that it is cut off", got)
		}
	}
}
