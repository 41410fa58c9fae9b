package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
	"time"
)

//go:embed templates
var files embed.FS

var (
	style  = read("style.css")
	script = read("refresh.js")
	// policy allows what stands in the page, and requests to where it comes from.
	policy = strings.Join([]string{"default-src 'none'", "style-src " + hash(style), "script-src " + hash(script),
		"connect-src 'self'", "img-src data:", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"}, "; ")

	fleetPage   = parse("fleet.html")
	setPage     = parse("set.html")
	groupPage   = parse("group.html")
	missingPage = parse("missing.html")
)

// read panics only if a file that is built in is not.
func read(name string) string {
	data, err := files.ReadFile("templates/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func parse(name string) *template.Template {
	return template.Must(template.New("frame.html").ParseFS(files, "templates/frame.html", "templates/"+name))
}

// frame is what all pages share.
type frame struct {
	Title string
	// Root leads from the page to that of all sets. Addresses are relative, so that
	// they hold behind a proxy.
	Root string
	// Query is what the sets are filtered by.
	Query string
	// At is when the page was made.
	At time.Time
	// Notices are what one should know before believing the page.
	Notices []string
	Looks   []look
}

func (frame) Style() template.CSS { return template.CSS(style) }
func (frame) Script() template.JS { return template.JS(script) }

func (f frame) Time() string { return f.At.UTC().Format("15:04:05") + " UTC" }
