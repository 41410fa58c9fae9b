package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// alert is a paragraph of the runbook.
type alert struct{ name, text string }

var (
	alertTitle = regexp.MustCompile(`(?m)^## (LWS\w+)$`)
	pageLink   = regexp.MustCompile(`\[([^\]]+)\]\((?:\.\./)?([\w-]+\.md)(#[\w-]*)?\)`)
)

// readAlerts takes the paragraphs out of docs/alerts.md. Grafana does not have the other
// pages of the documentation: links to them become their names.
func readAlerts(path string) ([]alert, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []alert
	at := alertTitle.FindAllSubmatchIndex(page, -1)
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		words := strings.Join(strings.Fields(string(page[m[1]:end])), " ")
		out = append(out, alert{name: string(page[m[2]:m[3]]), text: pageLink.ReplaceAllStringFunc(words, named)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no alerts in %s", path)
	}
	return out, nil
}

func named(link string) string {
	m := pageLink.FindStringSubmatch(link)
	file := "docs/" + m[2]
	if m[2] == "README.md" {
		file = m[2]
	}
	if m[1] == m[2] || m[1] == "README" {
		return file
	}
	return m[1] + " (" + file + ")"
}

// An alert has a row: its heading, whether it fires, and what to do.
const panelsPerAlert = 3

// explanation is where the runbook tells of an alert.
func explanation(alerts []alert, name string) (string, error) {
	for i, a := range alerts {
		if a.name == name {
			return fmt.Sprintf("%s&viewPanel=%d", path(runbookUID), (i+1)*panelsPerAlert), nil
		}
	}
	return "", fmt.Errorf("the runbook has no %s", name)
}

func explained(alerts []alert) board {
	b := board{file: "runbook.json", uid: runbookUID, title: "LeaderWorkerSet / Runbook",
		about: "What to do about each alert of the LeaderWorkerSet controller: docs/alerts.md, for where it is needed."}
	for _, a := range alerts {
		b.rows = append(b.rows, row{a.name, []panel{
			{title: "Firing", unit: units.Short, width: 4, height: 6,
				about:   "How many of this alert fire now. What they are about: the table on the dashboard of the fleet. Without the rules of deploy/monitoring it is always 0.",
				queries: []query{{fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"}) or vector(0)`, a.name), "firing"}},
				look:    number{limits: bad}},
			{title: a.name, width: 20, height: 6, about: "From docs/alerts.md of the version that these dashboards are of. What it says of other pages is found there.", look: words(a.text)},
		}})
	}
	return b
}
