package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// inNamespaces selects the sets of the namespaces chosen.
const inNamespaces = `namespace=~"$namespace"`

// bySet is one value a set, also for the moment in which two replicas tell of it.
func bySet(metric, selector string) string {
	return fmt.Sprintf("max by (namespace, name) (%s{%s})", metric, selector)
}

// underWay has a series for each set with a rollout under way: the time of its end is
// absent.
func underWay(selector string) string {
	return fmt.Sprintf(`group by (namespace, name) (lws_set_rollout_start_timestamp_seconds{%[1]s})
  unless group by (namespace, name) (lws_set_rollout_end_timestamp_seconds{%[1]s})`, selector)
}

// orNone has one series, of value 0, where there would be none.
func orNone(expr, label string) string {
	return fmt.Sprintf("%s\n  or on () label_replace(vector(0), %q, \"none\", \"\", \"\")", expr, label)
}

// slow are the groups that have been longest on their way, by the labels given.
func slow(labels, selector string) string {
	return fmt.Sprintf(`time() - min by (%s) (lws_groups_oldest_timestamp_seconds{%s, phase!~"Ready|Failed"})`, labels, selector)
}

// counted is the increase of a counter by a label.
func counted(metric, label, selector, over string) string {
	return fmt.Sprintf("sum by (%s) (increase(%s{%s}[%s]))", label, metric, selector, over)
}

// buckets are what a heatmap is made from.
func buckets(histogram, selector string) string {
	return fmt.Sprintf("sum by (le) (increase(%s_bucket{%s}[$__rate_interval]))", histogram, selector)
}

func fleet() board {
	return board{
		file: "fleet.json", uid: fleetUID, title: "LeaderWorkerSet / Fleet",
		about: "All sets of the namespaces chosen: are they well, what is being rolled out, what fails, and which sets most.",
		variables: []cog.Builder[dashboard.VariableModel]{
			several(values("namespace", "Namespace", "lws_set_replicas_desired", "namespace"), ".*"),
		},
		rows: []row{
			{"Health", append(fleetNumbers(), fleetHealth()...)},
			{"Sets", fleetSets()},
			{"Rollouts", fleetRollouts()},
			{"Failures and recreations", fleetFailures()},
		},
	}
}

func fleetNumbers() []panel {
	one := func(title, about, alert, unit, expr string, l limits) panel {
		return panel{title: title, about: about, alert: alert, unit: unit, width: 3, height: 4, look: number{limits: l}, queries: []query{{expr, title}}}
	}
	return []panel{
		one("Number of sets", "Sets that the leading replica knows. None although there are some: the controller does not lead, or is not scraped; look at the dashboard of the controller.",
			"LWSControllerNotLeading", units.Short, "count("+bySet("lws_set_replicas_desired", inNamespaces)+") or vector(0)", plain),
		one("Groups Ready", "Share of the groups wanted that are Ready. Below 100 % outside of rollouts: the table of sets, sorted by Ready, says whose.",
			"", units.PercentUnit, "clamp_max(sum("+bySet("lws_set_replicas_ready", inNamespaces)+")\n  / (sum("+bySet("lws_set_replicas_desired", inNamespaces)+") > 0), 1)",
			from("red").then(0.9, "orange").then(1, "green")),
		one("Degraded", "Sets that need a person. The table of sets says which; the dashboard of the set says why, as its condition Degraded does.",
			"LWSSetDegraded", units.Short, "sum("+bySet("lws_set_degraded", inNamespaces)+") or vector(0)", bad),
		one("Stalled", "Sets of which nothing has moved for their progress deadline. kubectl lws status names the group and the cause; mend that, or kubectl lws undo.",
			"LWSRolloutStalled", units.Short, "sum("+bySet("lws_set_stalled", inNamespaces)+") or vector(0)", bad),
		one("Rolling out", "Sets on their way to another revision. A rollout that stays: see its progress below.",
			"", units.Short, "count("+underWay(inNamespaces)+") or vector(0)", from("text").then(1, "blue")),
		one("Paused", "Sets whose rollout a person has paused. Forgotten? kubectl lws resume goes on with it.",
			"", units.Short, "sum("+bySet("lws_set_paused", inNamespaces)+") or vector(0)", from("text").then(1, "orange")),
		one("Leaders", "Replicas of the controller that lead: 1. With 0 nothing is created, updated or recreated; look at the dashboard of the controller. As many as there are controllers where each serves one namespace.",
			"LWSControllerNotLeading", units.Short, "sum(lws_controller_leading) or vector(0)", from("red").then(1, "green")),
		one("Alerts", "Alerts that fire, those about the controller included. They are in the table below, and explained in the runbook. Needs the rules of deploy/monitoring.",
			"", units.Short, `count(ALERTS{alertname=~"LWS.*", alertstate="firing", namespace=~"$namespace|"}) or vector(0)`, bad),
	}
}

func fleetHealth() []panel {
	return []panel{
		{title: "Groups by phase", unit: units.Short, width: 12, height: 8, look: lines{stacked: true},
			about:   "All groups, surge included. Pending or WorkersStarting that does not shrink: nodes, images or models that load; Recycling that does not: nodes that do not end pods; Failed: groups that are left as they are until a person looks. The panel of the slowest groups says whose.",
			queries: []query{{"sum by (phase) (max by (namespace, name, phase) (lws_groups{" + inNamespaces + "}))", "{{phase}}"}}},
		{title: "Alerts that fire", unit: units.Short, width: 12, height: 8,
			about:   "What fires now, and about which set. The runbook says what to do about each. Needs the rules of deploy/monitoring.",
			look:    rows{labels: []string{"alertname", "severity", "namespace", "name"}, values: []column{{title: "alerts", unit: units.Short, limits: bad}}, sortBy: "alerts", toSet: true},
			queries: []query{{orNone(`sum by (alertname, severity, namespace, name) (ALERTS{alertname=~"LWS.*", alertstate="firing", namespace=~"$namespace|"})`, "alertname"), ""}}},
	}
}

func fleetSets() []panel {
	return []panel{
		{title: "All sets", unit: units.Short, width: gridWidth, height: 10,
			about: "Every set. Sort by a column to find the worst: Ready below Desired, restarts, progress, the age of news that no sync has taken in. The name leads to the dashboard of the set.",
			look: rows{labels: []string{"namespace", "name"}, sortBy: "Restarts", toSet: true, values: []column{
				{title: "Desired", unit: units.Short}, {title: "Ready", unit: units.Short}, {title: "Updated", unit: units.Short},
				{title: "Progress", unit: units.PercentUnit, limits: from("blue").then(1, "green")},
				{title: "Rollout took", unit: units.Seconds},
				{title: "Restarts", unit: units.Short, limits: from("green").then(1, "orange").then(3, "red")},
				{title: "Degraded", unit: units.NoUnit, words: yesNo("red")},
				{title: "Stalled", unit: units.NoUnit, words: yesNo("red")},
				{title: "Paused", unit: units.NoUnit, words: yesNo("orange")},
				{title: "Not synced", unit: units.Seconds, limits: from("green").then(5, "orange").then(15, "red")},
			}},
			queries: []query{
				{bySet("lws_set_replicas_desired", inNamespaces), ""}, {bySet("lws_set_replicas_ready", inNamespaces), ""}, {bySet("lws_set_replicas_updated", inNamespaces), ""},
				{bySet("lws_set_rollout_progress_ratio", inNamespaces), ""}, {bySet("lws_set_rollout_duration_seconds", inNamespaces), ""},
				{bySet("lws_set_group_restarts_max", inNamespaces), ""}, {bySet("lws_set_degraded", inNamespaces), ""}, {bySet("lws_set_stalled", inNamespaces), ""},
				{bySet("lws_set_paused", inNamespaces), ""}, {bySet("lws_set_unsynced_seconds", inNamespaces), ""},
			}},
	}
}

func fleetRollouts() []panel {
	return []panel{
		{title: "Rollouts", unit: units.Short, width: 8, height: 8, look: lines{},
			about: "How many sets are on their way to another revision, and how many of all are paused or stalled. Stalled that stays above 0: each such set tells in its condition what it waits for.",
			alert: "LWSRolloutStalled",
			queries: []query{{"count(" + underWay(inNamespaces) + ") or vector(0)", "under way"},
				{"sum(" + bySet("lws_set_stalled", inNamespaces) + ")", "stalled"}, {"sum(" + bySet("lws_set_paused", inNamespaces) + ")", "paused"}}},
		{title: "Least progress", unit: units.PercentUnit, width: 8, height: 8, look: lines{most: 1, toSet: true},
			about:   "The ten sets that are furthest from having all groups at the revision wanted, and Ready. A line that stays level below 100 %: follow it to the set, and see what its slowest group waits for.",
			queries: []query{{"bottomk(10, " + bySet("lws_set_rollout_progress_ratio", inNamespaces) + ")", "{{namespace}}/{{name}}"}}},
		{title: "Duration of rollouts, all namespaces", unit: units.Seconds, width: 8, height: 8, look: heat{},
			about:   "How long the rollouts took that ended then, pauses included. Longer than before: groups start more slowly (see the dashboard of a set), or budgets (maxUnavailable, maxSurge) are small for the number of groups.",
			queries: []query{{buckets("lws_rollout_duration_seconds", ""), "{{le}}"}}},
	}
}

func fleetFailures() []panel {
	most := func(title, about, metric, heading string) panel {
		return panel{title: title, about: about, unit: units.Short, width: 8, height: 8,
			look:    rows{labels: []string{"namespace", "name"}, values: []column{{title: heading, unit: units.Short, limits: from("green").then(1, "orange").then(10, "red")}}, sortBy: heading, toSet: true},
			queries: []query{{fmt.Sprintf("topk(10, %s)", counted(metric, "namespace, name", inNamespaces, "$__range")), ""}}}
	}
	return []panel{
		{title: "Failures by reason", unit: units.Short, width: 12, height: 8, look: lines{stacked: true},
			about:   "Failures because of which groups were recreated, in the time between two points. PodGone and PodDeleted on many sets at once: nodes, drains or a quota. PodFailed or ContainerRestarted of one set: its software; its events name the container and the exit code.",
			alert:   "LWSGroupRecreatedTooOften",
			queries: []query{{counted("lws_group_failures_total", "reason", inNamespaces, "$__rate_interval"), "{{reason}}"}}},
		{title: "Recreations by cause", unit: units.Short, width: 12, height: 8, look: lines{stacked: true},
			about:   "Groups taken down to be made anew: because they failed, for an update, or because a person asked for it (Recycle). Failure above its usual level: the tables below say whose.",
			queries: []query{{counted("lws_group_recreations_total", "cause", inNamespaces, "$__rate_interval"), "{{cause}}"}}},
		most("Most failures", "The ten sets with the most failures in the time shown. Go to the first, and look at the reasons there; the same node again and again: cordon it.", "lws_group_failures_total", "failures"),
		most("Most recreations", "The ten sets whose groups were recreated most often in the time shown, updates included. Updates that nobody wants: something rewrites the template, see who with kubectl lws history.", "lws_group_recreations_total", "recreations"),
		{title: "Slowest groups", unit: units.Seconds, width: 8, height: 8,
			about:   "The ten sets and phases in which a group has been longest without being Ready. kubectl lws status says which group, and what it waits for.",
			alert:   "LWSGroupStuck",
			look:    rows{labels: []string{"namespace", "name", "phase"}, values: []column{{title: "in this phase for", unit: units.Seconds, limits: from("green").then(600, "orange").then(1800, "red")}}, sortBy: "in this phase for", toSet: true},
			queries: []query{{orNone("topk(10, "+slow("namespace, name, phase", inNamespaces)+")", "phase"), ""}}},
	}
}
