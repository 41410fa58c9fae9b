package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestContrast: text has at least 4.5 times the luminance of its ground, or the reverse,
// as WCAG 2 asks for at level AA, light and dark.
func TestContrast(t *testing.T) {
	light, dark, found := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("the style knows no dark")
	}
	dark, _, _ = strings.Cut(dark, "* {")
	light, _, _ = strings.Cut(light, "}")
	for name, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			colours[m[1]] = m[2]
		}
		pairs := [][2]string{{"notice-text", "notice"}, {"trouble-text", "trouble"}, {"text", "card"}, {"dim", "card"}}
		for _, l := range looks {
			pairs = append(pairs, [2]string{l.Class + "-text", l.Class})
		}
		for _, text := range []string{"text", "dim", "link", "good", "busy", "warn", "bad"} {
			pairs = append(pairs, [2]string{text, "ground"})
		}
		for _, p := range pairs {
			text, ground := colours[p[0]], colours[p[1]]
			if text == "" || ground == "" {
				t.Errorf("%s: %s or %s has no colour", name, p[0], p[1])
				continue
			}
			if c := contrast(t, text, ground); c < 4.5 {
				t.Errorf("%s: %s %s on %s %s: contrast %.2f", name, p[0], text, p[1], ground, c)
			}
		}
	}
	if c := contrast(t, "#ffffff", "#000000"); math.Abs(c-21) > 0.01 {
		t.Errorf("black on white: %.2f, want 21", c)
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, colour string) (l float64) {
	t.Helper()
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			l += weight * c / 12.92
		} else {
			l += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return l
}
