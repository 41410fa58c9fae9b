package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Both are seen from this folder, in which go run and go test start.
const (
	folder  = ".."
	runbook = "../../../../docs/alerts.md"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail where a file is stale")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check bool) error {
	all, err := boards(runbook)
	if err != nil {
		return err
	}
	for name, b := range all {
		want, err := encode(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(folder, name)
		if !check {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				return err
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			return fmt.Errorf("deploy/monitoring/dashboards/%s is stale: make generate", name)
		}
	}
	return nil
}

// boards are all dashboards, by file.
func boards(runbook string) (map[string]document, error) {
	alerts, err := readAlerts(runbook)
	if err != nil {
		return nil, err
	}
	out := map[string]document{}
	for _, b := range []board{fleet(), set(), controller(), explained(alerts)} {
		if out[b.file], err = b.build(alerts); err != nil {
			return nil, fmt.Errorf("%s: %w", b.file, err)
		}
	}
	return out, nil
}

// encode leaves characters such as > in queries as they are.
func encode(b document) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b)
	return out.Bytes(), err
}
