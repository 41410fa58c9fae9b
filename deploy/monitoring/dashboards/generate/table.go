package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// rows is a table: a row for each combination of labels, a column for each of these and
// one for the value of each query, in their order.
type rows struct {
	// labels are those that all queries have.
	labels []string
	values []column
	// sortBy is the heading of a column; the greatest comes first, unless up.
	sortBy string
	up     bool
	// toSet links the rows to the set that they name.
	toSet bool
	// none is shown where there is no row.
	none string
}

// column is the value of a query.
type column struct {
	title, unit string
	limits      limits
	words       map[string]dashboard.ValueMappingResult
}

func (r rows) panel(string) cog.Builder[dashboard.Panel] {
	titles, order := map[string]any{}, map[string]any{}
	for i, l := range r.labels {
		order[l] = i
	}
	b := table.NewPanelBuilder().Filterable(true).CellHeight(common.TableCellHeightSm).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{"sum"})).
		SortBy([]cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(r.sortBy).Desc(!r.up)})
	if r.none != "" {
		b.NoValue(r.none)
	}
	if r.toSet {
		link, _ := toSet("__data.fields").Build() // names cannot be refused
		b.OverrideByName("name", []dashboard.DynamicConfigValue{{Id: "links", Value: []dashboard.DashboardLink{link}}})
	}
	for i, c := range r.values {
		name := "Value #" + string(rune('A'+i))
		if len(r.values) == 1 {
			name = "Value"
		}
		titles[name], order[name] = c.title, len(r.labels)+i
		b.OverrideByName(c.title, c.properties())
	}
	return b.WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
			"excludeByName": map[string]any{"Time": true}, "renameByName": titles, "indexByName": order,
		}})
}

func (c column) properties() []dashboard.DynamicConfigValue {
	out := []dashboard.DynamicConfigValue{{Id: "unit", Value: c.unit}}
	if c.limits != nil {
		out = append(out,
			dashboard.DynamicConfigValue{Id: "thresholds", Value: dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: c.limits}},
			dashboard.DynamicConfigValue{Id: "custom.cellOptions", Value: map[string]any{"type": "color-text"}})
	}
	if c.words != nil {
		out = append(out, dashboard.DynamicConfigValue{Id: "mappings", Value: mappings(c.words)})
	}
	return out
}

func (rows) format() (prometheus.PromQueryFormat, bool) {
	return prometheus.PromQueryFormatTable, true
}
