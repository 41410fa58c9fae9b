package main

//lint:file-ignore SA1019 The form that is to take its place (dashboardv2) is one of the API
// of Grafana 12 and later: files, which sidecars write, and imports by hand take this one
// in all versions.

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// The identities by which dashboards link to each other. They are kept: people have
// bookmarks.
const (
	fleetUID      = "lws-fleet"
	setUID        = "lws-set"
	controllerUID = "lws-controller"
	runbookUID    = "lws-runbook"
)

// document is a dashboard as Grafana reads it.
type document = dashboard.Dashboard

// gridWidth is how many columns Grafana has.
const gridWidth = 24

// board is one dashboard.
type board struct {
	file, uid, title, about string
	variables               []cog.Builder[dashboard.VariableModel]
	annotations             []cog.Builder[dashboard.AnnotationQuery]
	rows                    []row
}

// row is a heading and the panels below it, placed from left to right.
type row struct {
	title  string
	panels []panel
}

// links are on top of each dashboard. Of the variables they take the data source along
// and the time; what is chosen of the others means something else there.
var links = []struct{ title, uid, tip string }{
	{"Fleet", fleetUID, "All sets"},
	{"Set", setUID, "One set"},
	{"Controller", controllerUID, "The controller itself"},
	{"Runbook", runbookUID, "What to do about each alert"},
}

func (b board) build(alerts []alert) (document, error) {
	d := dashboard.NewDashboardBuilder(b.title).Uid(b.uid).Description(b.about).
		Tags([]string{"leaderworkerset"}).Timezone("browser").Editable().
		Time("now-6h", "now").Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(datasourceVariable())
	for _, v := range b.variables {
		d.WithVariable(v)
	}
	for _, a := range b.annotations {
		d.Annotation(a)
	}
	for _, l := range links {
		if l.uid != b.uid {
			d.Link(dashboard.NewDashboardLinkBuilder(l.title).Type(dashboard.DashboardLinkTypeLink).
				Icon("dashboard").Tooltip(l.tip).Url(path(l.uid)).KeepTime(true))
		}
	}
	id, y := uint32(0), uint32(0)
	next := func() uint32 { id++; return id }
	for _, r := range b.rows {
		d.WithRow(dashboard.NewRowBuilder(r.title).Id(next()).
			GridPos(dashboard.GridPos{X: 0, Y: y, W: gridWidth, H: 1}))
		y++
		x, lowest := uint32(0), y
		for _, p := range r.panels {
			if x+p.width > gridWidth {
				x, y = 0, lowest
			}
			built, err := p.build(alerts)
			if err != nil {
				return document{}, fmt.Errorf("panel %q: %w", p.title, err)
			}
			number := next()
			built.Id = &number
			built.GridPos = &dashboard.GridPos{X: x, Y: y, W: p.width, H: p.height}
			d.WithPanel(ready(built))
			x, lowest = x+p.width, max(lowest, y+p.height)
		}
		y = lowest
	}
	return d.Build()
}

// path leads to a dashboard, with the data source chosen here.
func path(uid string) string { return "/d/" + uid + "?${datasource:queryparam}" }

// ready is a panel that is built, for who wants a builder.
type ready dashboard.Panel

func (r ready) Build() (dashboard.Panel, error) { return dashboard.Panel(r), nil }

func prometheusRef() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

func datasourceVariable() cog.Builder[dashboard.VariableModel] {
	return dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")
}

// values is a variable with the values of a label. The first of them is chosen where it
// has no All.
func values(name, label, selector, of string) *dashboard.QueryVariableBuilder {
	query := "label_values(" + selector + ", " + of + ")"
	return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(prometheusRef()).
		Query(dashboard.StringOrMap{String: &query}).Definition(query).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc)
}

// several makes the variable one of which many values, or all, can be chosen. Without a
// value for All, the values found stand for it.
func several(v *dashboard.QueryVariableBuilder, all string) *dashboard.QueryVariableBuilder {
	chosen := dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}
	text := dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}}
	v.Multi(true).IncludeAll(true).Current(dashboard.VariableOption{Selected: new(true), Text: text, Value: chosen})
	if all != "" {
		v.AllValue(all)
	}
	return v
}
