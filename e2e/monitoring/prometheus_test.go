package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"lws-controller/e2e/harness"
)

const rulesFile = "../../deploy/monitoring/plain/rules.yaml"

// prometheus is a real one that scrapes and evaluates every second.
type prometheus struct {
	dir, url string
	client   http.Client
}

// startPrometheus runs until the test ends. The rules are those that are shipped, save
// that what is true for a second is true for long enough: each `for:` is 1s. Their
// expressions are as they are.
func startPrometheus(t *testing.T) *prometheus {
	t.Helper()
	out, err := exec.Command("./prometheus.sh").Output()
	if err != nil {
		t.Fatalf("looking for prometheus: %v", err)
	}
	p := &prometheus{dir: t.TempDir(), client: http.Client{Timeout: 10 * time.Second}}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "rules.yaml", regexp.MustCompile(`(?m)^( +)for: \S+$`).ReplaceAllString(string(rules), "${1}for: 1s"))
	p.write(t, "prometheus.yaml", `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: lws-controller-metrics
  honor_labels: true
  file_sd_configs:
  - files: [targets.json]
    refresh_interval: 1s
`)
	p.targets(t)
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(filepath.Join(strings.TrimSpace(string(out)), "prometheus"), "--config.file=prometheus.yaml",
		"--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	p.run(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			data, _ := os.ReadFile(log.Name())
			t.Logf("end of Prometheus' log:\n%s", data[max(0, len(data)-2000):])
		}
	})
	listens := regexp.MustCompile(`msg="Listening on".* address=(\S+)`)
	harness.WaitFor(t, "Prometheus to be ready", time.Minute, func() (bool, string) {
		data, _ := os.ReadFile(log.Name())
		found := listens.FindSubmatch(data)
		if found == nil {
			return false, string(data)
		}
		p.url = "http://" + string(found[1])
		resp, err := p.client.Get(p.url + "/-/ready")
		if err != nil {
			return false, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
	return p
}

// run starts the process and ends it with the test, however that ends.
func (p *prometheus) run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	ended, err := harness.Child(cmd, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		p.client.CloseIdleConnections()
	})
}

func (p *prometheus) write(t *testing.T, name, content string) {
	t.Helper()
	// In one step: Prometheus must not read half of it.
	part := filepath.Join(p.dir, name+".part")
	if err := os.WriteFile(part, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, filepath.Join(p.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// replica is what targets are named by.
type replica struct {
	name string
	*harness.Controller
}

// targets has these replicas be scraped.
func (p *prometheus) targets(t *testing.T, replicas ...replica) {
	t.Helper()
	type target struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	list := []target{}
	for _, r := range replicas {
		address, err := r.URL("")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, target{[]string{strings.TrimPrefix(address, "http://")}, map[string]string{"replica": r.name}})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "targets.json", string(data))
}

// ask makes one request of the API and reads its data.
func (p *prometheus) ask(path string, values url.Values, into any) error {
	resp, err := p.client.PostForm(p.url+path, values)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Error string
		Data  any
	}{Data: into}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", resp.Status, answer.Error)
	}
	return nil
}

// query evaluates an expression now. A scalar is a vector of one without labels.
func (p *prometheus) query(expr string) (model.Vector, error) {
	var data struct {
		ResultType model.ValueType
		Result     json.RawMessage
	}
	if err := p.ask("/api/v1/query", url.Values{"query": {expr}}, &data); err != nil {
		return nil, err
	}
	if data.ResultType == model.ValScalar {
		var s model.Scalar
		err := json.Unmarshal(data.Result, &s)
		return model.Vector{{Metric: model.Metric{}, Value: s.Value, Timestamp: s.Timestamp}}, err
	}
	var v model.Vector
	err := json.Unmarshal(data.Result, &v)
	return v, err
}

// lately evaluates an expression over the last minute, as a panel does.
func (p *prometheus) lately(expr string) (model.Matrix, error) {
	now := time.Now()
	var data struct{ Result model.Matrix }
	err := p.ask("/api/v1/query_range", url.Values{"query": {expr}, "step": {"5s"},
		"start": {fmt.Sprint(now.Add(-time.Minute).Unix())}, "end": {fmt.Sprint(now.Unix())}}, &data)
	return data.Result, err
}

// value is that of an expression with one result, and whether there is one.
func (p *prometheus) value(t *testing.T, expr string) (float64, bool) {
	t.Helper()
	v, err := p.query(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	if len(v) > 1 {
		t.Fatalf("%s has %d results: %v", expr, len(v), v)
	}
	if len(v) == 0 {
		return 0, false
	}
	return float64(v[0].Value), true
}

// alertTimeout is ample: scrapes and evaluations are a second apart.
const alertTimeout = 90 * time.Second

// fires waits until an alert fires, or does not any more.
func (p *prometheus) fires(t *testing.T, is bool, alert string, labels ...string) {
	t.Helper()
	began := time.Now()
	expr := fmt.Sprintf("count(ALERTS{alertstate=\"firing\",alertname=%q%s})", alert, strings.Join(append([]string{""}, labels...), ","))
	harness.WaitFor(t, fmt.Sprintf("alert %s %v to fire: %t", alert, labels, is), alertTimeout, func() (bool, string) {
		n, some := p.value(t, expr)
		all, err := p.query(`ALERTS`)
		return (some && n > 0) == is, fmt.Sprint(all, err)
	})
	t.Logf("alert %s %v fires: %t, after %s", alert, labels, is, time.Since(began).Round(100*time.Millisecond))
}
