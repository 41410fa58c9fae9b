package revision

import (
	"fmt"
	"strings"
	"testing"
)

// variants are spellings of parts of a spec. Those of one line mean the same,
// those of different lines do not.
type variants struct {
	name string
	// where has %s in the place of the variant.
	where string
	lines [][]string
}

const (
	inSpec      = `{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"containers":[]}}} %s}`
	inTemplate  = `{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"containers":[]}} %s}}`
	inPod       = `{"leaderWorkerTemplate":{"workerTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[] %s}}}}`
	inContainer = `{"leaderWorkerTemplate":{"workerTemplate":{"spec":{"containers":[{"name":"c" %s}]}}}}`
)

var equalityTable = []variants{
	{"what makes no revision", inSpec, [][]string{
		{``, `,"replicas":7`, `,"startupPolicy":"LeaderReady"`, `,"scheduling":{}`,
			`,"rolloutStrategy":{"type":"RollingUpdate","rollingUpdateConfiguration":{"partition":3}}`},
	}},
	{"network", inSpec, [][]string{
		{``, `,"networkConfig":null`, `,"networkConfig":{}`, `,"networkConfig":{"subdomainPolicy":null}`, `,"networkConfig":{"subdomainPolicy":"Shared"}`},
		{`,"networkConfig":{"subdomainPolicy":"UniquePerReplica"}`},
	}},
	{"size", inTemplate, [][]string{{``, `,"size":1`, `,"size":null`}, {`,"size":2`}}},
	{"restart policy", inTemplate, [][]string{
		{``, `,"restartPolicy":""`, `,"restartPolicy":"RecreateGroupOnPodRestart"`},
		{`,"restartPolicy":"None"`, `,"restartPolicy":"Default"`},
		{`,"restartPolicy":"RecreateGroupAfterStart"`},
	}},
	{"restart budget", inTemplate, [][]string{{``}, {`,"maxGroupRestarts":0`}, {`,"maxGroupRestarts":1`}}},
	{"subgroups", inTemplate, [][]string{
		{``, `,"subGroupPolicy":null`},
		{`,"subGroupPolicy":{"subGroupSize":2}`, `,"subGroupPolicy":{"subGroupSize":2,"subGroupPolicyType":"LeaderWorker"}`},
		{`,"subGroupPolicy":{"subGroupSize":2,"subGroupPolicyType":"LeaderExcluded"}`},
		{`,"subGroupPolicy":{"subGroupSize":1}`},
		{`,"subGroupPolicy":{}`},
	}},
	{"leader template", inTemplate, [][]string{
		{``, `,"leaderTemplate":{"spec":{"containers":[]}}`, `,"leaderTemplate":{"metadata":{"creationTimestamp":null},"spec":{"containers":null,"restartPolicy":"Always"}}`},
		{`,"leaderTemplate":{"metadata":{"labels":{"role":"leader"}},"spec":{"containers":[]}}`},
		{`,"leaderTemplate":{"spec":{"containers":[],"nodeName":"n"}}`},
	}},
	{"claims", inTemplate, [][]string{
		{``, `,"volumeClaimTemplates":[]`, `,"persistentVolumeClaimRetentionPolicy":{}`,
			`,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"}`},
		{`,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}`},
		{`,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}`},
		{`,"volumeClaimTemplates":[{"metadata":{"name":"a"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]`,
			`,"volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","creationTimestamp":null},"spec":{"volumeMode":"Filesystem","resources":{"requests":{"storage":"1024Mi"}}},"status":{"phase":"Pending"}}]`},
		{`,"volumeClaimTemplates":[{"metadata":{"name":"b"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]`},
		{`,"volumeClaimTemplates":[{"metadata":{"name":"a"},"spec":{"storageClassName":"","resources":{"requests":{"storage":"1Gi"}}}}]`},
	}},
	{"pod metadata", `{"leaderWorkerTemplate":{"workerTemplate":{"metadata":%s,"spec":{"containers":[]}}}}`, [][]string{
		{`null`, `{}`, `{"creationTimestamp":null}`, `{"creationTimestamp":"2026-01-01T00:00:00Z"}`, `{"labels":{},"annotations":null}`, `{"name":"x"}`},
		{`{"labels":{"a":""}}`}, {`{"labels":{"a":"b"}}`}, {`{"annotations":{"a":"b"}}`}, {`{"finalizers":["a/b"]}`},
	}},
	{"pod", inPod, [][]string{
		{``, `,"restartPolicy":"Always"`, `,"dnsPolicy":"ClusterFirst"`, `,"schedulerName":"default-scheduler"`, `,"terminationGracePeriodSeconds":30`,
			`,"enableServiceLinks":true`, `,"securityContext":{}`, `,"hostNetwork":false`, `,"serviceAccountName":""`, `,"tolerations":[]`, `,"nodeSelector":{}`, `,"initContainers":null`, `,"fromTheFuture":1`},
		{`,"dnsPolicy":"Default"`}, {`,"terminationGracePeriodSeconds":0`}, {`,"enableServiceLinks":false`},
		{`,"hostNetwork":true`}, {`,"automountServiceAccountToken":true`}, {`,"automountServiceAccountToken":false`},
		{`,"serviceAccountName":"a"`, `,"serviceAccount":"a"`, `,"serviceAccountName":"a","serviceAccount":"a"`, `,"serviceAccountName":"a","serviceAccount":"b"`},
		{`,"serviceAccountName":"b"`},
		{`,"nodeSelector":{"a":""}`},
	}},
	{"affinity", inPod, [][]string{
		{`,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k"}]}}`,
			`,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":null,"namespaces":[]}]}}`},
		// An empty selector selects everything, none nothing.
		{`,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{}}]}}`,
			`,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","labelSelector":{"matchLabels":{}}}]}}`},
		{`,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"k","namespaceSelector":{}}]}}`},
	}},
	{"amounts", inContainer, [][]string{
		{``, `,"resources":{}`, `,"resources":{"limits":{},"requests":null}`},
		{`,"resources":{"limits":{"memory":"1Gi"}}`, `,"resources":{"limits":{"memory":"1024Mi"}}`, `,"resources":{"limits":{"memory":"1073741824"}}`,
			`,"resources":{"limits":{"memory":"1Gi"},"requests":{"memory":"1048576Ki"}}`},
		{`,"resources":{"limits":{"memory":"1G"}}`},
		{`,"resources":{"requests":{"memory":"1Gi"}}`},
		{`,"resources":{"limits":{"memory":"1Gi"},"requests":{"memory":"512Mi"}}`},
		{`,"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"0"}}`},
		{`,"resources":{"limits":{"cpu":"1"}}`, `,"resources":{"limits":{"cpu":"1000m"}}`, `,"resources":{"limits":{"cpu":1}}`},
	}},
	{"ports", inContainer, [][]string{
		{``, `,"ports":[]`},
		{`,"ports":[{"containerPort":80}]`, `,"ports":[{"containerPort":80,"protocol":"TCP"}]`, `,"ports":[{"containerPort":80,"hostPort":0}]`},
		{`,"ports":[{"containerPort":80,"protocol":"UDP"}]`},
		{`,"ports":[{"containerPort":80,"hostPort":80}]`},
		{`,"ports":[{"containerPort":80,"name":"http"}]`},
	}},
	{"ports on the host network", inPod, [][]string{
		{`,"hostNetwork":true,"containers":[{"name":"c","ports":[{"containerPort":80}]}]`, `,"hostNetwork":true,"containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":80}]}]`},
	}},
	{"environment", inContainer, [][]string{
		{``, `,"env":[]`},
		{`,"env":[{"name":"A"}]`, `,"env":[{"name":"A","value":""}]`},
		{`,"env":[{"name":"A","value":"1"}]`},
		{`,"env":[{"name":"A"},{"name":"B"}]`}, {`,"env":[{"name":"B"},{"name":"A"}]`},
		{`,"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`, `,"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name","apiVersion":"v1"}}}]`},
	}},
	{"probes", inContainer, [][]string{
		{`,"livenessProbe":{"httpGet":{"port":80}}`,
			`,"livenessProbe":{"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}`},
		{`,"livenessProbe":{"httpGet":{"port":"80"}}`},
		{`,"livenessProbe":{"httpGet":{"port":80},"initialDelaySeconds":1}`},
		{`,"livenessProbe":{"grpc":{"port":80}}`, `,"livenessProbe":{"grpc":{"port":80,"service":""}}`},
		{``}, {`,"livenessProbe":{}`},
		{`,"lifecycle":{"preStop":{"httpGet":{"port":80}}}`, `,"lifecycle":{"preStop":{"httpGet":{"port":80,"scheme":"HTTP","path":"/"}}}`},
	}},
	{"pull policy of a tag", inContainer, [][]string{
		{`,"image":"r:5000/a/b:1"`, `,"image":"r:5000/a/b:1","imagePullPolicy":"IfNotPresent"`}, {`,"image":"r:5000/a/b:1","imagePullPolicy":"Always"`},
	}},
	{"pull policy of latest", inContainer, [][]string{
		{`,"image":"a:latest"`, `,"image":"a:latest","imagePullPolicy":"Always"`}, {`,"image":"a:latest","imagePullPolicy":"IfNotPresent"`},
		{`,"image":"r:5000/a"`, `,"image":"r:5000/a","imagePullPolicy":"Always"`},
	}},
	{"pull policy of a digest", inContainer, [][]string{
		{`,"image":"a@sha256:` + digest + `"`, `,"image":"a@sha256:` + digest + `","imagePullPolicy":"IfNotPresent"`},
		{`,"image":"a:latest@sha256:` + digest + `"`, `,"image":"a:latest@sha256:` + digest + `","imagePullPolicy":"Always"`},
	}},
	{"pull policy of what is no image", inContainer, [][]string{
		{`,"image":"$(A)"`}, {`,"image":"$(A)","imagePullPolicy":"Always"`}, {`,"image":"$(A)","imagePullPolicy":"IfNotPresent"`},
	}},
	{"termination messages", inContainer, [][]string{
		{``, `,"terminationMessagePath":"/dev/termination-log"`, `,"terminationMessagePolicy":"File"`}, {`,"terminationMessagePolicy":"FallbackToLogsOnError"`},
	}},
	{"volumes", inPod, [][]string{
		{``, `,"volumes":[]`},
		{`,"volumes":[{"name":"v"}]`, `,"volumes":[{"name":"v","emptyDir":{}}]`},
		{`,"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}]`, `,"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1024Mi"}}]`},
		{`,"volumes":[{"name":"v","emptyDir":{"sizeLimit":"0"}}]`},
		{`,"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]`},
		{`,"volumes":[{"name":"v","configMap":{"name":"c"}}]`, `,"volumes":[{"name":"v","configMap":{"name":"c","defaultMode":420}}]`},
		{`,"volumes":[{"name":"v","configMap":{"name":"c","defaultMode":256}}]`},
		{`,"volumes":[{"name":"v","hostPath":{"path":"/x"}}]`, `,"volumes":[{"name":"v","hostPath":{"path":"/x","type":""}}]`},
	}},
}

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestEqual compares every pair of each table, in both directions: also that no
// two lines are confused, and that each spelling survives being stored.
func TestEqual(t *testing.T) {
	for _, table := range equalityTable {
		type entry struct {
			line    int
			content *Content
			text    string
		}
		var entries []entry
		for line, texts := range table.lines {
			for _, text := range texts {
				content := FromSet(set(t, fmt.Sprintf(table.where, text)))
				data, err := Data(content)
				if err != nil {
					t.Fatal(err)
				}
				back, err := Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				entries = append(entries, entry{line, content, text}, entry{line, back, text + " (stored)"})
			}
		}
		for _, a := range entries {
			for _, b := range entries {
				if got, want := Equal(a.content, b.content), a.line == b.line; got != want {
					t.Errorf("%s: equal is %v, want %v:\n  %s\n  %s", table.name, got, want, a.text, b.text)
				}
			}
		}
	}
}

// Data as other versions wrote it is found for the same spec.
func TestEqualToOtherVersions(t *testing.T) {
	want := FromSet(set(t, simple))
	for name, data := range map[string]string{
		"creationTimestamp null, network first": `{"spec":{"networkConfig":{"$patch":"replace","subdomainPolicy":"Shared"},"leaderWorkerTemplate":{"$patch":"replace","restartPolicy":"None","size":2,
			"workerTemplate":{"metadata":{"creationTimestamp":null},"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}}}}`,
		"before networkConfig": `{"spec":{"leaderWorkerTemplate":{"$patch":"replace","restartPolicy":"Default","size":2,
			"workerTemplate":{"metadata":{},"spec":{"containers":[{"image":"a:1","name":"main","resources":{}}]}}}}}`,
		"all defaults written out": `{"spec":{"leaderWorkerTemplate":{"restartPolicy":"None","size":2,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"},
			"workerTemplate":{"metadata":{},"spec":{"restartPolicy":"Always","containers":[{"image":"a:1","name":"main","resources":{},"imagePullPolicy":"IfNotPresent"}]}}},
			"networkConfig":{"subdomainPolicy":"Shared"}}}`,
	} {
		got, err := Parse([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !Equal(got, want) || !Equal(want, got) {
			t.Errorf("%s: differs", name)
		}
		changed, err := Parse([]byte(strings.Replace(data, "a:1", "a:2", 1)))
		if err != nil || Equal(changed, want) {
			t.Errorf("%s: another image is the same", name)
		}
	}
}
