package deploy_test

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the PrometheusRule from the plain rules")

const (
	plainRules   = "monitoring/plain/rules.yaml"
	rulesTest    = "monitoring/plain/rules_test.yaml"
	operatorRule = "monitoring/prometheus-rule.yaml"
	runbook      = "../docs/alerts.md"
)

const ruleHead = `# The rules of plain/rules.yaml for the Prometheus operator: go test ./deploy -update
# writes them.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: lws-controller
  namespace: kube-system
  labels:
    app.kubernetes.io/name: lws-controller
spec:
`

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Record, Alert, Expr, For string
			Labels, Annotations      map[string]string
		}
	} `json:"groups"`
}

func readYAML(t *testing.T, path string, into any) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return data
}

// TestRulesAreTheSame: the operator is given what the plain file has.
func TestRulesAreTheSame(t *testing.T) {
	var plain map[string]any
	source := string(readYAML(t, plainRules, &plain))
	if *update {
		_, groups, _ := strings.Cut(source, "\ngroups:\n")
		indented := regexp.MustCompile(`(?m)^(.)`).ReplaceAllString("groups:\n"+groups, "  $1")
		if err := os.WriteFile(operatorRule, []byte(ruleHead+indented), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var rule struct {
		APIVersion, Kind string
		Metadata         map[string]any
		Spec             map[string]any
	}
	readYAML(t, operatorRule, &rule)
	if !reflect.DeepEqual(rule.Spec, plain) {
		t.Errorf("%s and %s differ: go test ./deploy -update", operatorRule, plainRules)
	}
}

// TestEveryAlertIsExplained: each has a paragraph in the runbook that its annotation
// leads to, and a test of promtool in which it fires and one in which it does not; each
// rule has a test.
func TestEveryAlertIsExplained(t *testing.T) {
	var rules ruleFile
	readYAML(t, plainRules, &rules)
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	data, err := os.ReadFile(rulesTest)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &tests); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, a := range test.AlertRuleTest {
			fires[a.Alertname] = fires[a.Alertname] || len(a.ExpAlerts) > 0
			silent[a.Alertname] = silent[a.Alertname] || len(a.ExpAlerts) == 0
		}
	}
	page, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				if !strings.Contains(string(data), r.Record) {
					t.Errorf("%s has no test in %s", r.Record, rulesTest)
				}
				continue
			}
			alerts = append(alerts, r.Alert)
			_, paragraph, found := strings.Cut(string(page), "\n## "+r.Alert+"\n\n")
			paragraph, _, _ = strings.Cut(paragraph, "\n## ")
			if !found || len(paragraph) < 200 {
				t.Errorf("%s has no paragraph in %s", r.Alert, runbook)
			}
			if want := "docs/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s: annotations %v, labels %v; want a summary, a severity and the runbook %s", r.Alert, r.Annotations, r.Labels, want)
			}
			if !fires[r.Alert] || !silent[r.Alert] {
				t.Errorf("%s: in %s it fires: %t, it does not: %t; want both", r.Alert, rulesTest, fires[r.Alert], silent[r.Alert])
			}
		}
	}
	for _, title := range regexp.MustCompile(`(?m)^## (LWS\w+)$`).FindAllStringSubmatch(string(page), -1) {
		if !slices.Contains(alerts, title[1]) {
			t.Errorf("%s explains %s, which is no alert", runbook, title[1])
		}
	}
}

// TestScrapesHonorLabels: both ways to scrape leave the namespace of a set alone, and
// find the Service.
func TestScrapesHonorLabels(t *testing.T) {
	for file, parts := range map[string][]string{
		"monitoring/service-monitor.yaml": {"honorLabels: true", "port: metrics", "interval: 15s"},
		"monitoring/plain/scrape.yaml":    {"honor_labels: true", "lws-controller-metrics;metrics", "scrape_interval: 15s"},
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s lacks %s", file, part)
			}
		}
	}
}
