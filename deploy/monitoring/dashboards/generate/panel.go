package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/text"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// panel is what all panels have in common, and what it looks like.
type panel struct {
	title string
	// about says what the panel shows, and what to do when that looks bad.
	about string
	unit  string
	// alert is one of the runbook's, to which the panel links.
	alert         string
	width, height uint32
	queries       []query
	look          look
}

// query has a legend for each of its series; {{label}} stands for the value of a label.
type query struct{ expr, legend string }

// look makes what is different for each kind of panel.
type look interface {
	panel(unit string) cog.Builder[dashboard.Panel]
	// format is that of the answer; now: the last values are enough.
	format() (f prometheus.PromQueryFormat, now bool)
}

// build adds to the look what all panels have.
func (p panel) build(alerts []alert) (dashboard.Panel, error) {
	built, err := p.look.panel(p.unit).Build()
	if err != nil {
		return built, err
	}
	built.Title, built.Description = &p.title, &p.about
	if len(p.queries) > 0 {
		ref := prometheusRef()
		built.Datasource = &ref
	}
	if p.unit != "" {
		if built.FieldConfig == nil {
			built.FieldConfig = dashboard.NewFieldConfigSource()
		}
		built.FieldConfig.Defaults.Unit = &p.unit
	}
	if p.alert != "" {
		url, err := explanation(alerts, p.alert)
		if err != nil {
			return built, err
		}
		link, err := dashboard.NewDashboardLinkBuilder("Runbook: " + p.alert).Type(dashboard.DashboardLinkTypeLink).Url(url).Build()
		if err != nil {
			return built, err
		}
		built.Links = []dashboard.DashboardLink{link}
	}
	for i, q := range p.queries {
		target, err := p.target(i, q).Build()
		if err != nil {
			return built, err
		}
		built.Targets = append(built.Targets, target)
	}
	return built, nil
}

func (p panel) target(i int, q query) cog.Builder[variants.Dataquery] {
	format, now := p.look.format()
	t := prometheus.NewDataqueryBuilder().Expr(q.expr).RefId(string(rune('A' + i))).Datasource(prometheusRef()).
		Format(format).LegendFormat(q.legend).EditorMode(prometheus.QueryEditorModeCode)
	if now {
		return t.Instant()
	}
	return t.Range()
}

// limits are colours from a value on; the first is from below.
type limits []dashboard.Threshold

func from(color string) limits { return limits{{Color: color}} }

func (l limits) then(value float64, color string) limits {
	return append(l, dashboard.Threshold{Value: &value, Color: color})
}

// What most numbers are coloured by.
var (
	plain = from("text")
	// bad is every number above 0.
	bad = from("green").then(1, "red")
)

func (l limits) builder() cog.Builder[dashboard.ThresholdsConfig] {
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(l)
}

// number is one value, or a few.
type number struct {
	limits limits
	words  map[string]dashboard.ValueMappingResult
}

func (n number) panel(string) cog.Builder[dashboard.Panel] {
	b := stat.NewPanelBuilder().Thresholds(n.limits.builder()).NoValue("–").
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone).TextMode(common.BigValueTextModeAuto).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	return b.Mappings(mappings(n.words))
}

func (number) format() (prometheus.PromQueryFormat, bool) {
	return prometheus.PromQueryFormatTimeSeries, true
}

// yesNo has words for 0 and 1.
func yesNo(yesColor string) map[string]dashboard.ValueMappingResult {
	return map[string]dashboard.ValueMappingResult{
		"0": {Text: new("no"), Color: new("green"), Index: new(int32(0))},
		"1": {Text: new("yes"), Color: &yesColor, Index: new(int32(1))},
	}
}

func mappings(words map[string]dashboard.ValueMappingResult) []dashboard.ValueMapping {
	if words == nil {
		return nil
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: words}}}
}

// lines are series over time.
type lines struct {
	// stacked: they add up to something.
	stacked bool
	// most is the greatest possible value; 0: there is none.
	most float64
	// none is shown where there is no series.
	none string
	// toSet links each series to the set of its labels.
	toSet bool
}

func (l lines) panel(string) cog.Builder[dashboard.Panel] {
	b := timeseries.NewPanelBuilder().Min(0).LineWidth(1).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementRight).
			ShowLegend(true).Calcs([]string{"lastNotNull", "max"}).SortBy("Last *").SortDesc(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if l.stacked {
		b.FillOpacity(50).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	}
	if l.most > 0 {
		b.Max(l.most)
	}
	if l.none != "" {
		b.NoValue(l.none)
	}
	if l.toSet {
		b.DataLinks([]cog.Builder[dashboard.DashboardLink]{toSet("__field.labels")})
	}
	return b
}

func (lines) format() (prometheus.PromQueryFormat, bool) {
	return prometheus.PromQueryFormatTimeSeries, false
}

// toSet leads to the dashboard of the set whose labels stand there.
func toSet(labels string) cog.Builder[dashboard.DashboardLink] {
	url := fmt.Sprintf("%s&var-namespace=${%[2]s.namespace}&var-set=${%[2]s.name}&${__url_time_range}", path(setUID), labels)
	return dashboard.NewDashboardLinkBuilder("Show the set").Url(url)
}

// heat shows a histogram over time. Its query gives the increase of each bucket.
type heat struct{}

func (heat) panel(unit string) cog.Builder[dashboard.Panel] {
	return heatmap.NewPanelBuilder().Calculate(false).ShowLegend().CellGap(1).
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Oranges").
			Fill("dark-orange").Scale(heatmap.HeatmapColorScaleExponential).Exponent(0.5).Steps(64)).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit).AxisPlacement(common.AxisPlacementLeft)).
		CellValues(heatmap.NewCellValuesBuilder().Unit(units.Short)).
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(true)).
		FilterValues(heatmap.NewFilterValueRangeBuilder().Le(1e-9))
}

func (heat) format() (prometheus.PromQueryFormat, bool) {
	return prometheus.PromQueryFormatHeatmap, false
}

// states shows over time which value each series had.
type states struct {
	words map[string]dashboard.ValueMappingResult
}

func (s states) panel(string) cog.Builder[dashboard.Panel] {
	return statetimeline.NewPanelBuilder().Mappings(mappings(s.words)).MergeValues(true).RowHeight(0.8).FillOpacity(70).LineWidth(0).
		ShowValue(common.VisibilityModeNever).Thresholds(plain.builder()).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true))
}

func (states) format() (prometheus.PromQueryFormat, bool) {
	return prometheus.PromQueryFormatTimeSeries, false
}

// words is text in Markdown.
type words string

func (w words) panel(string) cog.Builder[dashboard.Panel] {
	return text.NewPanelBuilder().Mode(text.TextModeMarkdown).Content(string(w))
}

func (words) format() (prometheus.PromQueryFormat, bool) { return "", true }
