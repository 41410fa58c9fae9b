package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// Client-side apply keeps the whole object in an annotation, whose size is
// limited to 256 kB. setUp has applied the CRD so.
func TestAppliedClientSide(t *testing.T) {
	out := kubectl(t, "", "get", "crd", crdName, "-o", `jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}`)
	const limit = 200_000
	if len(out) == 0 || len(out) > limit {
		t.Errorf("the applied CRD has %d bytes, want at most %d", len(out), limit)
	}
	if out, err := runKubectl("", "diff", "-f", crdFile); err != nil {
		t.Errorf("the stored CRD is not the applied one:\n%s", out)
	}
	if got := kubectl(t, "", "apply", "-f", policyFile); strings.Contains(got, "configured") {
		t.Errorf("applied again: %s", got)
	}
}

// explain has words of ours for every field of ours.
func TestExplain(t *testing.T) {
	for _, row := range []struct{ path, want string }{
		{"lws", "runs groups of pods as units"},
		{"lws.spec", "replicas is the number of groups"},
		{"lws.spec.leaderWorkerTemplate", "workerTemplate is the template of the worker pods"},
		{"lws.spec.leaderWorkerTemplate", "volumeClaimTemplates are claims that each pod of the group gets"},
		{"lws.spec.leaderWorkerTemplate.subGroupPolicy", "subGroupSize is the number of pods per subgroup"},
		{"lws.spec.rolloutStrategy.rollingUpdateConfiguration", "maxSurge is how many groups may exist above replicas"},
		{"lws.spec.scheduling", "schedulingConstraints keep the pods of a group within"},
		{"lws.status", "updatedReplicas is the number of groups"},
		{"lws.status.recycling", "incarnation that is being torn down"},
	} {
		out := strings.Join(strings.Fields(kubectl(t, "", "explain", row.path)), " ")
		if !strings.Contains(out, row.want) {
			t.Errorf("explain %s lacks %q:\n%s", row.path, row.want, out)
		}
		for _, note := range []string{"kubebuilder", "optionalOldSelf", "---"} {
			if strings.Contains(out, note) {
				t.Errorf("explain %s shows a note for developers (%q):\n%s", row.path, note, out)
			}
		}
	}
}

func TestColumns(t *testing.T) {
	ns := control.NamespaceT(t, "columns")
	if err := create(t.Context(), ns, with(minimal("web"), `spec: {replicas: 3, leaderWorkerTemplate: {size: 4}}`)); err != nil {
		t.Fatal(err)
	}
	const status = `status:
  replicas: 3
  readyReplicas: 2
  updatedReplicas: 1
  updateRevision: abc
  conditions: [{type: Available, status: "False", reason: R, message: "", lastTransitionTime: "2026-12-01T10:00:00Z"}]`
	if err := patchSet(t.Context(), ns, "web", status, "status"); err != nil {
		t.Fatal(err)
	}
	table := func(args ...string) (header, row string) {
		t.Helper()
		lines := strings.Split(kubectl(t, "", append([]string{"-n", ns, "get"}, args...)...), "\n")
		return strings.Join(strings.Fields(lines[0]), " "), strings.Join(strings.Fields(lines[1]), " ")
	}
	for _, name := range []string{"lws", "leaderworkerset", "leaderworkersets"} {
		header, row := table(name)
		if header != "NAME READY DESIRED UP-TO-DATE AGE" || !strings.HasPrefix(row, "web 2 3 1 ") {
			t.Errorf("get %s:\n%s\n%s", name, header, row)
		}
	}
	header, row := table("lws", "-o", "wide")
	if want := "NAME READY DESIRED UP-TO-DATE AGE CURRENT SIZE AVAILABLE UPDATING REVISION"; header != want || !strings.HasSuffix(row, "3 4 False abc") {
		t.Errorf("get -o wide:\n%s\n%s", header, row)
	}
}

// The facts of the resource that other software finds by discovery.
func TestResource(t *testing.T) {
	var list struct {
		Resources []struct {
			Name, SingularName, Kind string
			Namespaced               bool
			ShortNames               []string
		}
	}
	if err := json.Unmarshal([]byte(kubectl(t, "", "get", "--raw", "/apis/leaderworkerset.x-k8s.io/v1")), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range list.Resources {
		found[r.Name] = r.Kind
		if !r.Namespaced {
			t.Errorf("%s is not namespaced", r.Name)
		}
		if r.Name == "leaderworkersets" && (r.SingularName != "leaderworkerset" || strings.Join(r.ShortNames, ",") != "lws") {
			t.Errorf("names are %+v", r)
		}
	}
	for name, kind := range map[string]string{"leaderworkersets": "LeaderWorkerSet", "leaderworkersets/status": "LeaderWorkerSet", "leaderworkersets/scale": "Scale"} {
		if found[name] != kind {
			t.Errorf("%s has kind %q, want %q", name, found[name], kind)
		}
	}
}

// kubectl apply of a manifest twice, and of an edited one.
func TestApplyManifest(t *testing.T) {
	ns := control.NamespaceT(t, "manifest")
	data, err := json.Marshal(with(minimal("web"), rich))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"created", "unchanged"} {
		if got := kubectl(t, string(data), "-n", ns, "apply", "-f", "-"); !strings.Contains(got, want) {
			t.Errorf("apply %d: %s, want %s", i+1, got, want)
		}
	}
	edited := strings.Replace(string(data), `"size":2`, `"size":3`, 1)
	if got := kubectl(t, edited, "-n", ns, "apply", "-f", "-"); !strings.Contains(got, "configured") {
		t.Errorf("apply of a change: %s", got)
	}
	_, err = runKubectl(string(data), "-n", ns, "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
	if err != nil {
		t.Errorf("server-side apply afterwards: %v", err)
	}
}
