package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"lws-controller/api/client"
	"lws-controller/e2e/cluster"
)

// TestAgent is the user agent of the tests' own requests.
const TestAgent = "e2e-test"

// Env is what a test works with.
type Env struct {
	Cluster *cluster.Cluster
	// Kube and Sets are clients of an administrator with the agent TestAgent.
	Kube kubernetes.Interface
	Sets *client.Client
	// Controller is the one that all tests of a package share, with Main.
	Controller *Controller
	// LosesAnswers is set by a test that kills the API server: then the audit log
	// may lack requests that were carried out.
	LosesAnswers bool
	// Unrecorded are namespaces in which a test has the CRD drop for a while what is put
	// on record.
	Unrecorded []string

	mu         sync.Mutex
	namespaces map[string]int
}

// NewEnv makes the clients for a cluster. It starts no controller. When the test
// ends, after the controllers that it starts later, all that was written is judged.
func NewEnv(t testing.TB, c *cluster.Cluster) *Env {
	t.Helper()
	env, err := newEnv(c)
	if err != nil {
		t.Fatal(err)
	}
	env.judgeAfter(t)
	return env
}

func newEnv(c *cluster.Cluster) (*Env, error) {
	config := c.Config(TestAgent)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	sets, err := client.New(config)
	if err != nil {
		return nil, err
	}
	return &Env{Cluster: c, Kube: kube, Sets: sets, namespaces: map[string]int{}}, nil
}

// Main runs the tests of a package with one cluster and one controller, and
// returns the exit code. It sets *env before the tests run. The arguments are the
// controller's.
func Main(m *testing.M, options cluster.Options, env **Env, args ...string) int {
	code, err := runMain(m, options, env, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
		return 1
	}
	return code
}

// startTimeout bounds the start of cluster and controller when their programs are
// built already.
const startTimeout = 20 * time.Minute

func runMain(m *testing.M, options cluster.Options, env **Env, args []string) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	program, err := built()
	if err != nil {
		return 1, err
	}
	defer removeBuilt()
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 || err != nil {
			c.KeepDir()
		}
		if stopErr := c.Stop(); err == nil {
			err = stopErr
		}
	}()
	e, err := newEnv(c)
	if err != nil {
		return 1, err
	}
	if err := install(ctx, c); err != nil {
		return 1, err
	}
	if e.Controller, err = startController(c, program, args...); err != nil {
		return 1, err
	}
	if err := e.Controller.ready(); err != nil {
		return 1, err
	}
	*env = e
	if err := moreAtOnce(); err != nil {
		return 1, err
	}
	code = m.Run()
	if err := e.Controller.finish(); err != nil {
		return 1, fmt.Errorf("controller: %w\nlog: %s", err, e.Controller.log)
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "log of the controller: %s, its end:\n%s\n", e.Controller.log, e.Controller.tail())
	}
	verdict, err := e.judge()
	if err != nil {
		return 1, fmt.Errorf("invariants: %w", err)
	}
	fmt.Fprintf(os.Stderr, "invariants: %s\n", verdict)
	return code, nil
}

// atOnce is how many tests run in parallel. They spend their time waiting for the
// control plane, so there may be more of them than processors.
const atOnce = 8

// moreAtOnce raises the number of parallel tests, unless the command line says how
// many there shall be.
func moreAtOnce() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(atOnce))
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace makes a namespace for this test, named after it.
func (e *Env) Namespace(t testing.TB) string {
	t.Helper()
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "-"), "-")
	name = strings.Trim(name[:min(len(name), 50)], "-")
	e.mu.Lock()
	e.namespaces[name]++
	if n := e.namespaces[name]; n > 1 {
		name = fmt.Sprintf("%s-again%d", name, n) // no test is named so
	}
	e.mu.Unlock()
	return e.Cluster.NamespaceT(t, name)
}
