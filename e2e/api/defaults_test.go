package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const allDefaults = `
replicas: 1
startupPolicy: LeaderCreated
networkConfig: {subdomainPolicy: Shared}
rolloutStrategy:
  type: RollingUpdate
  rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 0, partition: 0}
leaderWorkerTemplate:
  size: 1
  restartPolicy: RecreateGroupOnPodRestart
  workerTemplate: {spec: {containers: [{name: c, image: i}]}}
`

// Absent, empty, null and partial: the stored spec has every default and
// nothing else.
func TestDefaults(t *testing.T) {
	for _, row := range []struct{ spec, want string }{
		{`{}`, `{}`},
		{`{replicas: null, startupPolicy: null, networkConfig: null, rolloutStrategy: null}`, `{}`},
		{`{networkConfig: {}, rolloutStrategy: {}}`, `{}`},
		{`{networkConfig: {subdomainPolicy: null}}`, `{}`},
		{`{networkConfig: {subdomainPolicy: UniquePerReplica}}`, `{networkConfig: {subdomainPolicy: UniquePerReplica}}`},
		{`{rolloutStrategy: {type: null}}`, `{}`},
		{`{rolloutStrategy: {type: RollingUpdate}}`, `{}`},
		{`{rolloutStrategy: {type: ""}}`, `{rolloutStrategy: {type: ""}}`},
		{`{startupPolicy: ""}`, `{startupPolicy: ""}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: null}}`, `{}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: {}}}`, `{}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: null, maxSurge: null, partition: null}}}`, `{}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: 25%}}}`, `{rolloutStrategy: {rollingUpdateConfiguration: {maxUnavailable: 25%}}}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 2}}}`, `{rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 2}}}`},
		{`{rolloutStrategy: {rollingUpdateConfiguration: {partition: 3}}}`, `{rolloutStrategy: {rollingUpdateConfiguration: {partition: 3}}}`},
		{`{leaderWorkerTemplate: {size: null, restartPolicy: null, leaderTemplate: null, subGroupPolicy: null}}`, `{}`},
		{`{leaderWorkerTemplate: {size: 4, subGroupPolicy: {subGroupSize: 2}}}`, `{leaderWorkerTemplate: {size: 4, subGroupPolicy: {subGroupSize: 2, subGroupPolicyType: LeaderWorker}}}`},
		{`{scheduling: {}}`, `{scheduling: {}}`},
		{`{scheduling: {schedulingPolicy: {gang: {}}}}`, `{scheduling: {schedulingPolicy: {gang: {}}}}`},
		{`{leaderWorkerTemplate: {persistentVolumeClaimRetentionPolicy: {}}}`, `{leaderWorkerTemplate: {persistentVolumeClaimRetentionPolicy: {}}}`},
	} {
		sent := &unstructured.Unstructured{Object: with(minimal("set"), "spec: "+row.spec)}
		stored, err := resource("default").Create(t.Context(), sent, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Errorf("%s: %v", row.spec, err)
			continue
		}
		want := with(fromYAML(allDefaults), row.want)
		if got := normal(t, stored.Object["spec"]); !reflect.DeepEqual(got, normal(t, want)) {
			t.Errorf("%s is stored as\n%v\nwant\n%v", row.spec, got, want)
		}
	}
}

// normal makes numbers of one type.
func normal(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var n any
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// rich has in its templates much of what the published CRD has defaults for.
const rich = `
metadata: {labels: {app: web}, annotations: {a: b}}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate: &template
      metadata:
        name: from-template
        labels: {role: leader}
        annotations: {note: x}
        finalizers: [example.com/hold]
      spec:
        restartPolicy: Always
        imagePullSecrets: [{name: pull}]
        containers:
        - name: c
          image: i
          ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]
          env:
          - {name: A, valueFrom: {configMapKeyRef: {key: k}}}
          - {name: B, valueFrom: {secretKeyRef: {key: k}}}
          - {name: C, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}
          envFrom: [{configMapRef: {}}, {secretRef: {}}]
          livenessProbe: {grpc: {port: 9000}}
          readinessProbe: {httpGet: {port: 8080}}
          resources: {limits: {cpu: "1", nvidia.com/gpu: "8"}, requests: {cpu: 500m}}
        volumes:
        - {name: a, configMap: {}}
        - {name: b, azureDisk: {diskName: d, diskURI: u}}
        - {name: c, iscsi: {targetPortal: p, iqn: q, lun: 0}}
        - {name: d, rbd: {image: i, monitors: [m]}}
        - {name: e, scaleIO: {gateway: g, system: s, secretRef: {}}}
        - {name: f, ephemeral: {volumeClaimTemplate: {metadata: {labels: {x: z}, annotations: {n: m}}, spec: {}}}}
        - {name: g, emptyDir: {}}
    workerTemplate: *template
    volumeClaimTemplates:
    - metadata: {name: data, labels: {l: m}, annotations: {n: o}, finalizers: [example.com/hold]}
      spec:
        accessModes: [ReadWriteOnce]
        dataSource: {kind: PersistentVolumeClaim, name: source}
        selector: {matchLabels: {s: t}}
        resources: {requests: {storage: 1Gi}}
  scheduling:
    schedulingPolicy: {gang: {}}
    schedulingConstraints: {topology: [{key: rack}]}
    disruptionMode: {all: {}}
    resourceClaims: [{name: a, resourceClaimName: x}]
`

// defaulted are the fields that the API server may add to what was sent.
var defaulted = []string{
	".spec.replicas", ".spec.startupPolicy", ".spec.networkConfig",
	".spec.rolloutStrategy", ".spec.rolloutStrategy.type", ".spec.rolloutStrategy.rollingUpdateConfiguration",
	".spec.leaderWorkerTemplate.size", ".spec.leaderWorkerTemplate.restartPolicy",
	".metadata.creationTimestamp", ".metadata.generation", ".metadata.managedFields",
	".metadata.namespace", ".metadata.resourceVersion", ".metadata.uid",
}

// Everything sent is stored, and nothing is added but the defaults above.
func TestStoredEqualsSent(t *testing.T) {
	sent := with(minimal("rich"), rich)
	stored, err := resource("default").Create(t.Context(), &unstructured.Unstructured{Object: sent}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	sameBut(t, normal(t, sent), normal(t, stored.Object), defaulted)
}

// sameBut reports every difference between what was sent and what is stored,
// other than added fields that are expected.
func sameBut(t *testing.T, sent, stored any, added []string) {
	t.Helper()
	differences("", sent, stored, func(path, what string) {
		if what != "added" || !slices.Contains(added, path) {
			t.Errorf("%s: %s", path, what)
		}
	})
}

func differences(path string, sent, stored any, report func(path, what string)) {
	switch s := sent.(type) {
	case map[string]any:
		m, ok := stored.(map[string]any)
		if !ok {
			report(path, fmt.Sprintf("sent %v, stored %v", sent, stored))
			return
		}
		for k, v := range s {
			if other, ok := m[k]; ok {
				differences(path+"."+k, v, other, report)
			} else {
				report(path+"."+k, "dropped")
			}
		}
		for k := range m {
			if _, ok := s[k]; !ok {
				report(path+"."+k, "added")
			}
		}
	case []any:
		l, ok := stored.([]any)
		if !ok || len(l) != len(s) {
			report(path, fmt.Sprintf("sent %v, stored %v", sent, stored))
			return
		}
		for i := range s {
			differences(path+"[]", s[i], l[i], report)
		}
	default:
		if !reflect.DeepEqual(sent, stored) && !strings.HasSuffix(path, ".managedFields") {
			report(path, fmt.Sprintf("sent %v, stored %v", sent, stored))
		}
	}
}
