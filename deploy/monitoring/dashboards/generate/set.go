package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// ofSet selects the set chosen.
const ofSet = `namespace=~"$namespace", name=~"$set"`

// most is the value of a gauge of the set.
func most(metric string) string { return fmt.Sprintf("max(%s{%s})", metric, ofSet) }

func set() board {
	return board{
		file: "set.json", uid: setUID, title: "LeaderWorkerSet / Set",
		about: "One set: phases of its groups, rollout and revisions, failures and recreations, and how long things take.",
		variables: []cog.Builder[dashboard.VariableModel]{
			values("namespace", "Namespace", "lws_set_replicas_desired", "namespace"),
			values("set", "Set", `lws_set_replicas_desired{namespace=~"$namespace"}`, "name"),
		},
		annotations: []cog.Builder[dashboard.AnnotationQuery]{rolloutAnnotation()},
		rows: []row{
			{"Now", setNumbers()},
			{"Groups", setGroups()},
			{"Rollout", setRollout()},
			{"Failures and recreations", setFailures()},
			{"How long it takes, all sets together", durations()},
		},
	}
}

// rolloutAnnotation marks the time from the start to the end of each rollout: where a
// query of an annotation is above 0 without a gap, Grafana shows one region.
func rolloutAnnotation() cog.Builder[dashboard.AnnotationQuery] {
	return dashboard.NewAnnotationQueryBuilder().Name("Rollouts").Enable(true).IconColor("blue").Datasource(prometheusRef()).
		Expr(fmt.Sprintf(`group by (namespace, name) (lws_set_rollout_start_timestamp_seconds{%[1]s})
  - (group by (namespace, name) (lws_set_rollout_end_timestamp_seconds{%[1]s})
    or 0 * group by (namespace, name) (lws_set_rollout_start_timestamp_seconds{%[1]s}))`, ofSet)).
		TitleFormat("Rollout of {{namespace}}/{{name}}").Step("30s")
}

func setNumbers() []panel {
	one := func(title, about, alert, unit, expr string, n number) panel {
		return panel{title: title, about: about, alert: alert, unit: unit, width: 3, height: 4, look: n, queries: []query{{expr, title}}}
	}
	return []panel{
		one("Desired", "Groups that the set is to have: spec.replicas. Not what you expect: an autoscaler or somebody else scales it.", "", units.Short, most("lws_set_replicas_desired"), number{limits: plain}),
		one("Ready", "Groups whose pods are all Ready. Fewer than desired: the phases below say where the others are.", "", units.Short, most("lws_set_replicas_ready"), number{limits: from("red").then(1, "text")}),
		one("Progress", "Share of the groups that are to have the update revision that have it and are Ready. Below 100 % and level: see what the slowest group waits for.", "LWSRolloutStalled", units.PercentUnit,
			most("lws_set_rollout_progress_ratio"), number{limits: from("blue").then(1, "green")}),
		one("Restarts", "Recreations because of failures of the group that has the most. From 3 on it fails again and again: its events name container, exit code and node.", "LWSGroupRecreatedTooOften", units.Short,
			most("lws_set_group_restarts_max"), number{limits: from("green").then(1, "orange").then(3, "red")}),
		one("Degraded", "Whether something needs a person. The reason stands under Conditions below, the message in the condition Degraded of the set.", "LWSSetDegraded", units.NoUnit, most("lws_set_degraded"), number{limits: plain, words: yesNo("red")}),
		one("Stalled", "Whether nothing has moved for the progress deadline. Mend what the condition Stalled names, or kubectl lws undo.", "LWSRolloutStalled", units.NoUnit, most("lws_set_stalled"), number{limits: plain, words: yesNo("red")}),
		one("Paused", "Whether a person has paused the rollout. kubectl lws resume goes on with it.", "", units.NoUnit, most("lws_set_paused"), number{limits: plain, words: yesNo("orange")}),
		one("Not synced for", "Age of the oldest news about the set that no sync has taken in: milliseconds when all is well. Above 15 s: its syncs fail, and the log of the controller says why.", "LWSControllerNotSyncing", units.Seconds,
			most("lws_set_unsynced_seconds"), number{limits: from("green").then(5, "orange").then(15, "red")}),
	}
}

func setGroups() []panel {
	return []panel{
		{title: "Groups by phase", unit: units.Short, width: 12, height: 9, look: lines{stacked: true},
			about:   "Where the groups are, surge included. A band other than Ready that does not shrink: see the panel beside it, and kubectl lws status.",
			queries: []query{{"sum by (phase) (max by (namespace, name, phase) (lws_groups{" + ofSet + "}))", "{{phase}}"}}},
		{title: "Slowest group by phase", unit: units.Seconds, width: 12, height: 9, look: lines{},
			about: "How long the group has been there that has been longest in the phase. A straight slope: it is the same group, and stuck. kubectl lws status says which, and what it waits for.",
			alert: "LWSGroupStuck", queries: []query{{orNone(slow("phase", ofSet), "phase"), "{{phase}}"}}},
		{title: "Number of groups", unit: units.Short, width: 12, height: 8, look: lines{},
			about:   "Wanted, there, Ready, and at the update revision. More there than wanted: surge, or a scale-down under way. Ready far below wanted during a rollout: maxUnavailable allows it, or groups of the new revision do not start.",
			queries: []query{{most("lws_set_replicas_desired"), "desired"}, {most("lws_set_replicas"), "exist"}, {most("lws_set_replicas_ready"), "Ready"}, {most("lws_set_replicas_updated"), "updated"}}},
		{title: "Conditions", unit: units.NoUnit, width: 12, height: 8, look: states{words: yesNo("red")},
			about: "When the set was degraded, and why; stalled, paused, or rolling out. The message that goes with it: kubectl describe lws.", alert: "LWSSetDegraded",
			queries: []query{{most("lws_set_degraded"), "Degraded"}, {most("lws_set_stalled"), "Stalled"}, {most("lws_set_paused"), "Paused"},
				{orNone("max by (reason) (lws_set_degraded_info{"+ofSet+"})", "reason"), "Degraded: {{reason}}"}}},
		{title: "Each group, with --metrics-per-group", unit: units.Seconds, width: gridWidth, height: 8,
			about:   "How long each group has been in its phase; what changed last comes first. Not Ready for long, turn the order round: it hangs. Only where the controller runs with --metrics-per-group; without it, kubectl lws status shows the same for now.",
			look:    rows{labels: []string{"namespace", "name", "group", "phase"}, values: []column{{title: "in this phase for", unit: units.Seconds}}, sortBy: "in this phase for", up: true, none: "needs --metrics-per-group"},
			queries: []query{{"time() - max by (namespace, name, group, phase) (lws_group_phase_timestamp_seconds{" + ofSet + "})", ""}}},
	}
}

func setRollout() []panel {
	return []panel{
		{title: "Progress over time", unit: units.PercentUnit, width: 8, height: 8, look: lines{most: 1},
			about: "Share of the groups that are to have the update revision that have it and are Ready. It falls when a rollout begins, and when updated groups fail. Level for long: stalled, paused or held back by budgets.",
			alert: "LWSRolloutStalled", queries: []query{{most("lws_set_rollout_progress_ratio"), "progress"}}},
		{title: "Duration of the rollout", unit: units.Seconds, width: 8, height: 8, look: lines{},
			about:   "How long the rollout under way has taken so far, or the last one took, pauses included. Much longer than the last: compare how long groups take to start, below.",
			queries: []query{{most("lws_set_rollout_duration_seconds"), "rollout"}}},
		{title: "Revisions", unit: units.NoUnit, width: 8, height: 8, look: states{},
			about:   "Which revision all groups had when a rollout last ended, and which that of the spec is. Two different ones for long: a rollout does not come to its end. kubectl lws history shows what is in them, kubectl lws undo goes back.",
			queries: []query{{"max by (current_revision, update_revision) (lws_set_revision_info{" + ofSet + "})", "{{current_revision}} → {{update_revision}}"}}},
	}
}

func setFailures() []panel {
	in := func(metric, label string) string { return counted(metric, label, ofSet, "$__rate_interval") }
	return []panel{
		{title: "Failures by reason", unit: units.Short, width: 8, height: 8, look: lines{stacked: true},
			about: "Failures because of which groups were recreated, in the time between two points. PodFailed, ContainerRestarted: logs and exit codes of the pods; PodDeleted: who deletes them; PodGone: nodes that went.",
			alert: "LWSGroupRecreatedTooOften", queries: []query{{in("lws_group_failures_total", "reason"), "{{reason}}"}}},
		{title: "Recreations by cause", unit: units.Short, width: 8, height: 8, look: lines{stacked: true},
			about:   "Groups taken down to be made anew: because of failures, for an update, or because a person asked for it (Recycle). Updates that nobody wants: something rewrites the template.",
			queries: []query{{in("lws_group_recreations_total", "cause"), "{{cause}}"}}},
		{title: "Restarts of the worst group", unit: units.Short, width: 8, height: 8, look: lines{},
			about: "Recreations because of failures of the group that has the most, as in status.groupRestarts. It goes up with each failure, and to 0 after ten minutes of being Ready, or with kubectl annotate ... recover=true.",
			alert: "LWSGroupRecreatedTooOften", queries: []query{{most("lws_set_group_restarts_max"), "restarts"}}},
	}
}

// durations are of all sets together: the metrics have no set.
func durations() []panel {
	one := func(title, about, histogram, selector string) panel {
		return panel{title: title, about: about, unit: units.Seconds, width: 12, height: 8, look: heat{}, queries: []query{{buckets(histogram, selector), "{{le}}"}}}
	}
	return []panel{
		one("Startup of groups", "From the creation of the leader pod to the group being Ready for the first time. Slower than before: images that are pulled anew, models that load, nodes that must be added first.", "lws_group_startup_duration_seconds", ""),
		one("Recreation after a failure", "From the teardown on record to the next incarnation being Ready. Much longer than a startup: pods that do not end in time, see grace periods and nodes that are down.", "lws_group_recreation_duration_seconds", `cause="Failure"`),
		one("Rollouts", "How long the rollouts took that ended then, pauses included. Longer with as many groups: groups start more slowly, or budgets are small.", "lws_rollout_duration_seconds", ""),
		{title: "Time in each phase, 90th percentile", unit: units.Seconds, width: 12, height: 8, look: lines{},
			about:   "For groups that left the phase then. Pending long: leaders wait for nodes or images; WorkersStarting long: workers do; Recycling long: pods take their time to end.",
			queries: []query{{`histogram_quantile(0.9, sum by (phase, le) (rate(lws_group_phase_duration_seconds_bucket{phase!~"Ready|Failed"}[$__rate_interval])))`, "{{phase}}"}}},
	}
}
