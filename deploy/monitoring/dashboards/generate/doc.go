// Command generate writes the dashboards of the folder above it, as JSON for Grafana,
// from typed code: fleet.go, set.go, controller.go and, out of docs/alerts.md,
// runbook.go. With -check it writes nothing, and fails where a file is not what would be
// written.
//
// # Queries
//
// They ask for what the controller serves, not for what rules record: dashboards are of
// use without the rules. Only what fires (ALERTS) comes from them.
//
// A query can be run elsewhere once its variables are replaced, as text:
//
//	$namespace, $set, $job          a regular expression; ".*" for all
//	$__rate_interval, $__range      a duration, at least four times that between scrapes
//
// Variables of a dashboard stand in matchers with =~ only, so that this is right; that of
// the data source never stands in a query. The queries are the fields "expr" of panels and
// annotations; those of variables have the form label_values(SELECTOR, LABEL).
//
// With ".*" each returns at least one series where a controller has been scraped that has
// a set, and for annotations and durations of rollouts a set that was updated: what may be
// empty ends in "or".
package main
