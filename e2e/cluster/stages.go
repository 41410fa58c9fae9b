package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Annotations on a pod tell kwok how it shall behave; they are read whenever the
// pod changes, so they can be set on a running pod and taken away again. In a
// template they concern every pod made of it, also after a recreation.
// Durations are those of Go: "3s".
const (
	// AnnotationReadyAfter makes a pod run and be Ready only so long after it was
	// bound to a node. Each change of the pod starts the time anew.
	AnnotationReadyAfter = "kwok.lws-controller/ready-after"
	// AnnotationHold, present with any value, keeps a pod Pending on its node.
	AnnotationHold = "kwok.lws-controller/hold"
	// AnnotationUnready, present, makes a running pod not Ready, without a
	// restart; taken away, Ready again.
	AnnotationUnready = "kwok.lws-controller/unready"
	// AnnotationRestartAfter restarts all containers of a running pod once, with
	// exit code 1: restartCount becomes 1 and the pod is Ready again at once.
	AnnotationRestartAfter = "kwok.lws-controller/restart-after"
	// AnnotationFailAfter ends a running pod in phase Failed.
	AnnotationFailAfter = "kwok.lws-controller/fail-after"
	// AnnotationDeleteAfter makes a pod take so long to go when it is deleted.
	AnnotationDeleteAfter = "kwok.lws-controller/delete-after"
	// AnnotationHang, present, keeps a deleted pod terminating, as on a node that
	// has died.
	AnnotationHang = "kwok.lws-controller/hang"
)

// LabelNodeNotReady with the value "true" on a node makes kwok report it not
// Ready after a second; the controller manager then taints it.
const LabelNodeNotReady = "node-not-ready.stage.kwok.x-k8s.io"

// kwokStages are those of kwok's module that are played.
var kwokStages = []string{
	"node/fast/node-initialize.yaml",
	"node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
	"node/chaos/node-not-ready.yaml",
	"pod/fast/pod-ready.yaml",
	"pod/fast/pod-complete.yaml",
	"pod/fast/pod-delete.yaml",
	"volume/fast/pv-bind.yaml",
	"volume/fast/pv-delete.yaml",
	"volume/fast/pvc-delete.yaml",
	"volume/fast/pvc-provision.yaml",
}

// kwokStorageClass is the class whose claims the volume stages serve, with
// volumes that hold nothing; it is the default class.
const (
	kwokStorageClass = "kwok-volume"
	kwokProvisioner  = "kwok.x-k8s.io/volume"
)

// ownStages are ours.
//
//go:embed stages
var ownStages embed.FS

// stage is a kwok Stage as YAML reads it.
type stage map[string]any

func (s stage) name() string {
	meta, _ := s["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

// kwokConfig returns kwok's configuration file: its own settings, the stages of
// its module made to listen to our annotations, our stages, and extra ones, each
// in place of an earlier one of the same name.
func kwokConfig(bin Binaries, extra []string) ([]byte, error) {
	var docs [][]byte
	for _, s := range kwokStages {
		data, err := os.ReadFile(filepath.Join(bin.Dir, stagesDir, filepath.FromSlash(s)))
		if err != nil {
			return nil, err
		}
		docs = append(docs, data)
	}
	own, err := fs.Glob(ownStages, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range own {
		data, err := ownStages.ReadFile(name)
		if err != nil {
			return nil, err
		}
		docs = append(docs, data)
	}
	for _, e := range extra {
		docs = append(docs, []byte(e))
	}
	stages, err := mergeStages(docs)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString(kwokSettings)
	for _, s := range stages {
		data, err := yaml.Marshal(s)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "---\n%s", data)
	}
	return out.Bytes(), nil
}

// kwokSettings let kwok work on many pods at once: its default of four would be
// the bottleneck of benchmarks.
const kwokSettings = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 32
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 8
  podsOnNodeSyncParallelism: 8
`

// mergeStages reads one stage a document.
func mergeStages(docs [][]byte) ([]stage, error) {
	var stages []stage
	for _, doc := range docs {
		var s stage
		if err := yaml.UnmarshalStrict(doc, &s); err != nil {
			return nil, fmt.Errorf("kwok stage: %w\n%s", err, doc)
		}
		if s["kind"] != "Stage" || s.name() == "" {
			return nil, fmt.Errorf("kwok stage: want kind Stage and a name:\n%s", doc)
		}
		// Only kwok's own two come by these names first.
		old := slices.IndexFunc(stages, func(o stage) bool { return o.name() == s.name() })
		if old >= 0 {
			stages[old] = s
			continue
		}
		switch s.name() {
		case "pod-ready":
			s.obey(AnnotationHold, AnnotationReadyAfter)
		case "pod-delete":
			s.obey(AnnotationHang, AnnotationDeleteAfter)
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// obey makes a stage without delay stay away from pods with the one annotation
// and wait as long as the other says.
func (s stage) obey(unless, delay string) {
	spec := s["spec"].(map[string]any)
	selector := spec["selector"].(map[string]any)
	selector["matchExpressions"] = append(selector["matchExpressions"].([]any), map[string]any{
		"key": annotationPath(unless), "operator": "DoesNotExist",
	})
	spec["delay"] = map[string]any{
		"durationMilliseconds": 0,
		"durationFrom":         map[string]any{"expressionFrom": annotationPath(delay)},
	}
}

func annotationPath(name string) string { return fmt.Sprintf(".metadata.annotations[%q]", name) }
