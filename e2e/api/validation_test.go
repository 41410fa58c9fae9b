package api

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Each row is a rule, with objects it accepts and refuses, as patches of the
// minimal set, and a part of the message that says what to do.
var createRules = []struct {
	rule    string
	good    []string
	bad     []string
	message string
}{
	{
		rule:    "spec is there",
		good:    []string{`{}`},
		bad:     []string{`spec: null`},
		message: "spec is required",
	}, {
		rule:    "a worker template is there",
		bad:     []string{`spec: {leaderWorkerTemplate: {workerTemplate: null}}`},
		message: "spec.leaderWorkerTemplate.workerTemplate: Required value",
	}, {
		rule:    "name is a DNS-1035 label",
		good:    []string{`metadata: {name: a-1}`},
		bad:     []string{`metadata: {name: 1a}`, `metadata: {name: a.b}`},
		message: "metadata.name must be a DNS-1035 label",
	}, {
		rule: "the longest pod name fits into 63 characters",
		good: []string{
			long(61, `{}`),
			long(60, `{replicas: 11}`),
			long(58, `{replicas: 101, leaderWorkerTemplate: {size: 1}}`),
			long(56, `{replicas: 101, leaderWorkerTemplate: {size: 100}}`),
			long(60, `{replicas: 9, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 2}}}`),
			long(61, `{replicas: 1, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 1000}}}`), // never more than replicas
		},
		bad: []string{
			long(62, `{}`),
			long(62, `{replicas: 0}`),
			long(61, `{replicas: 11}`),
			long(60, `{leaderWorkerTemplate: {size: 2}}`),
			long(61, `{replicas: 9, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 2}}}`),
			long(61, `{replicas: 9, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 12%}}}`), // 1.08, rounded up
		},
		message: "metadata.name is too long",
	}, {
		rule:    "replicas are 0 to 1000000",
		good:    []string{`spec: {replicas: 0}`, `spec: {replicas: 1000000}`},
		bad:     []string{`spec: {replicas: -1}`, `spec: {replicas: 1000001}`},
		message: "spec.replicas in body should be",
	}, {
		rule:    "size is at least 1",
		good:    []string{`spec: {leaderWorkerTemplate: {size: 1}}`},
		bad:     []string{`spec: {leaderWorkerTemplate: {size: 0}}`, `spec: {leaderWorkerTemplate: {size: -1}}`},
		message: "spec.leaderWorkerTemplate.size in body should be greater than or equal to 1",
	}, {
		rule:    "the number of pods fits into 31 bits",
		good:    []string{`spec: {replicas: 1000000, leaderWorkerTemplate: {size: 2147}}`},
		bad:     []string{`spec: {replicas: 1000000, leaderWorkerTemplate: {size: 2148}}`},
		message: "replicas * leaderWorkerTemplate.size, the number of pods, must not exceed 2147483647",
	}, {
		rule:    "subGroupSize is there and positive",
		good:    []string{sub(4, `{subGroupSize: 1}`)},
		bad:     []string{sub(4, `{}`), sub(4, `{subGroupSize: null}`), sub(4, `{subGroupSize: 0}`), sub(4, `{subGroupSize: -2}`), sub(4, `{subGroupPolicyType: LeaderExcluded}`)},
		message: "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize",
	}, {
		rule:    "subGroupSize is at most size",
		good:    []string{sub(4, `{subGroupSize: 4}`)},
		bad:     []string{sub(4, `{subGroupSize: 5}`), sub(4, `{subGroupSize: 8}`)},
		message: "subGroupPolicy.subGroupSize must not exceed size",
	}, {
		rule:    "size or size-1 is divisible by subGroupSize",
		good:    []string{sub(8, `{subGroupSize: 4}`), sub(9, `{subGroupSize: 4}`), sub(1, `{subGroupSize: 1}`)},
		bad:     []string{sub(8, `{subGroupSize: 3}`), sub(10, `{subGroupSize: 4}`)},
		message: "size or size-1 must be divisible by subGroupPolicy.subGroupSize",
	}, {
		rule:    "LeaderExcluded: size-1 is divisible by subGroupSize",
		good:    []string{sub(9, `{subGroupSize: 4, subGroupPolicyType: LeaderExcluded}`)},
		bad:     []string{sub(8, `{subGroupSize: 4, subGroupPolicyType: LeaderExcluded}`), sub(4, `{subGroupSize: 4, subGroupPolicyType: LeaderExcluded}`)},
		message: "size-1 must be divisible by subGroupPolicy.subGroupSize when subGroupPolicyType is LeaderExcluded",
	}, {
		rule:    "subGroupPolicyType is known",
		bad:     []string{sub(8, `{subGroupSize: 4, subGroupPolicyType: LeaderOnly}`)},
		message: `supported values: "LeaderWorker", "LeaderExcluded"`,
	}, {
		rule:    "maxUnavailable is a number or a percentage",
		good:    []string{rolling(`maxUnavailable: 2`), rolling(`maxUnavailable: 25%`), rolling(`maxUnavailable: 100%`), rolling(`maxUnavailable: 007%`)},
		bad:     []string{rolling(`maxUnavailable: 101%`), rolling(`maxUnavailable: -1`), rolling(`maxUnavailable: "5"`), rolling(`maxUnavailable: "-5%"`), rolling(`maxUnavailable: some`), rolling(`maxUnavailable: 3000000000`)},
		message: "maxUnavailable must be a number of groups, 0 or more, or a percentage from 0% to 100%, like 25%",
	}, {
		rule:    "maxSurge is a number or a percentage",
		good:    []string{rolling(`maxSurge: 2`), rolling(`maxSurge: 100%`)},
		bad:     []string{rolling(`maxSurge: 150%`), rolling(`maxSurge: -1`), rolling(`maxSurge: ""`), rolling(`maxSurge: 1.5%`), rolling(`maxSurge: 99999999999999999999%`)},
		message: "maxSurge must be a number of groups, 0 or more, or a percentage from 0% to 100%, like 25%",
	}, {
		rule:    "maxUnavailable and maxSurge are not both literally 0",
		good:    []string{rolling(`maxUnavailable: 0, maxSurge: 1`), rolling(`maxUnavailable: 0, maxSurge: 1%`), rolling(`maxUnavailable: 1%`)},
		bad:     []string{rolling(`maxUnavailable: 0`), rolling(`maxUnavailable: 0%, maxSurge: 0`), rolling(`maxUnavailable: 0, maxSurge: 00%`)},
		message: "maxUnavailable and maxSurge must not both be 0",
	}, {
		rule:    "partition is not negative",
		good:    []string{rolling(`partition: 0`), rolling(`partition: 7`)},
		bad:     []string{rolling(`partition: -1`)},
		message: "spec.rolloutStrategy.rollingUpdateConfiguration.partition in body should be greater than or equal to 0",
	}, {
		rule:    "the type of rollout is known",
		good:    []string{`spec: {rolloutStrategy: {type: RollingUpdate}}`, `spec: {rolloutStrategy: {type: ""}}`},
		bad:     []string{`spec: {rolloutStrategy: {type: Recreate}}`},
		message: `spec.rolloutStrategy.type: Unsupported value: "Recreate"`,
	}, {
		rule:    "startupPolicy is known",
		good:    []string{`spec: {startupPolicy: LeaderReady}`, `spec: {startupPolicy: ""}`},
		bad:     []string{`spec: {startupPolicy: WorkersFirst}`},
		message: `spec.startupPolicy: Unsupported value: "WorkersFirst"`,
	}, {
		rule:    "subdomainPolicy is known",
		good:    []string{`spec: {networkConfig: {subdomainPolicy: UniquePerReplica}}`},
		bad:     []string{`spec: {networkConfig: {subdomainPolicy: Own}}`},
		message: `spec.networkConfig.subdomainPolicy: Unsupported value: "Own"`,
	}, {
		rule:    "restartPolicy of groups is known",
		good:    []string{lwt(`restartPolicy: Default`), lwt(`restartPolicy: None`), lwt(`restartPolicy: RecreateGroupAfterStart`)},
		bad:     []string{lwt(`restartPolicy: Never`)},
		message: `spec.leaderWorkerTemplate.restartPolicy: Unsupported value: "Never"`,
	}, {
		rule:    "pods of the worker template restart always",
		good:    []string{lwt(`workerTemplate: {spec: {restartPolicy: Always}}`), lwt(`workerTemplate: {spec: {restartPolicy: ""}}`)},
		bad:     []string{lwt(`workerTemplate: {spec: {restartPolicy: OnFailure}}`), lwt(`workerTemplate: {spec: {restartPolicy: Never}}`)},
		message: "spec.leaderWorkerTemplate.workerTemplate.spec.restartPolicy: Invalid value: restartPolicy must be Always or unset",
	}, {
		rule:    "pods of the leader template restart always",
		good:    []string{lwt(`leaderTemplate: {spec: {restartPolicy: Always, containers: [{name: c, image: i}]}}`)},
		bad:     []string{lwt(`leaderTemplate: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`)},
		message: "spec.leaderWorkerTemplate.leaderTemplate.spec.restartPolicy: Invalid value: restartPolicy must be Always or unset",
	}, {
		rule:    "maxGroupRestarts needs a policy that recreates groups",
		good:    []string{lwt(`maxGroupRestarts: 0`), lwt(`maxGroupRestarts: 3, restartPolicy: RecreateGroupAfterStart`), lwt(`restartPolicy: None`)},
		bad:     []string{lwt(`maxGroupRestarts: 3, restartPolicy: None`), lwt(`maxGroupRestarts: 3, restartPolicy: Default`)},
		message: "maxGroupRestarts needs a restartPolicy that recreates groups: RecreateGroupOnPodRestart or RecreateGroupAfterStart",
	}, {
		rule:    "maxGroupRestarts is not negative",
		bad:     []string{lwt(`maxGroupRestarts: -1`)},
		message: "spec.leaderWorkerTemplate.maxGroupRestarts in body should be greater than or equal to 0",
	}, {
		rule:    "claims are retained or deleted",
		good:    []string{lwt(`persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}`), lwt(`persistentVolumeClaimRetentionPolicy: {}`)},
		bad:     []string{lwt(`persistentVolumeClaimRetentionPolicy: {whenDeleted: Keep}`)},
		message: "whenDeleted and whenScaled must be Retain or Delete",
	}, {
		rule: "gang scheduling goes without LeaderReady",
		good: []string{
			`spec: {scheduling: {}}`,
			`spec: {scheduling: {schedulingPolicy: {gang: {}}}, startupPolicy: LeaderCreated}`,
			`spec: {scheduling: {schedulingPolicy: {basic: {}}}, startupPolicy: LeaderReady}`,
		},
		bad: []string{
			`spec: {scheduling: {}, startupPolicy: LeaderReady}`,
			`spec: {scheduling: {schedulingPolicy: {}}, startupPolicy: LeaderReady}`,
			`spec: {scheduling: {schedulingPolicy: {gang: {}}}, startupPolicy: LeaderReady}`,
		},
		message: "startupPolicy LeaderReady cannot be used with gang scheduling",
	}, {
		rule:    "one scheduling policy",
		good:    []string{`spec: {scheduling: {schedulingPolicy: {}}}`},
		bad:     []string{`spec: {scheduling: {schedulingPolicy: {gang: {}, basic: {}}}}`},
		message: "schedulingPolicy must not have both gang and basic",
	}, {
		rule:    "one topology key",
		good:    []string{`spec: {scheduling: {schedulingConstraints: {topology: [{key: rack}]}}}`},
		bad:     []string{`spec: {scheduling: {schedulingConstraints: {topology: [{key: rack}, {key: zone}]}}}`},
		message: "spec.scheduling.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
	}, {
		rule:    "one disruption mode",
		good:    []string{`spec: {scheduling: {disruptionMode: {all: {}}}}`},
		bad:     []string{`spec: {scheduling: {disruptionMode: {}}}`, `spec: {scheduling: {disruptionMode: {all: {}, single: {}}}}`},
		message: "disruptionMode must have either single or all",
	}, {
		rule:    "a claim or its template",
		good:    []string{`spec: {scheduling: {resourceClaims: [{name: a, resourceClaimName: x}, {name: b, resourceClaimTemplateName: t}]}}`},
		bad:     []string{`spec: {scheduling: {resourceClaims: [{name: a}]}}`, `spec: {scheduling: {resourceClaims: [{name: a, resourceClaimName: x, resourceClaimTemplateName: t}]}}`},
		message: "each of resourceClaims must have either resourceClaimName or resourceClaimTemplateName",
	}, {
		rule: "templates hold nothing that Go clients cannot read",
		good: []string{
			container(`livenessProbe: {httpGet: {port: 8080}}, resources: {limits: {cpu: 1e3, memory: 1.5Gi}}`),
			container(`livenessProbe: {httpGet: {port: http}}, resources: {limits: {cpu: 500m}}`),
		},
		bad: []string{
			container(`livenessProbe: {httpGet: {port: 30000000000}}`),
			container(`resources: {limits: {cpu: "1e1.5"}}`),
			container(`resources: {limits: {cpu: "1e999999"}}`),
			lwt(`volumeClaimTemplates: [{metadata: {name: v}, status: {conditions: [{type: t, status: "True", lastProbeTime: "2026-12-01t10:00:00z"}]}}]`),
		},
		message: "in body should ",
	},
}

func lwt(fields string) string { return "spec: {leaderWorkerTemplate: {" + fields + "}}" }
func rolling(fields string) string {
	return "spec: {rolloutStrategy: {rollingUpdateConfiguration: {" + fields + "}}}"
}
func container(fields string) string {
	return lwt("workerTemplate: {spec: {containers: [{name: c, image: i, " + fields + "}]}}")
}
func sub(size int, policy string) string {
	return lwt(fmt.Sprintf("size: %d, subGroupPolicy: %s", size, policy))
}

// long has a name of n characters.
func long(n int, spec string) string {
	return fmt.Sprintf("{metadata: {name: %s}, spec: %s}", strings.Repeat("a", n), spec)
}

func TestCreateRules(t *testing.T) {
	for _, row := range createRules {
		t.Run(row.rule, func(t *testing.T) {
			for _, patch := range row.good {
				if err := create(t.Context(), "default", with(minimal("good"), patch), metav1.DryRunAll); err != nil {
					t.Errorf("%s was refused: %v", patch, err)
				}
			}
			for _, patch := range row.bad {
				refused(t, patch, create(t.Context(), "default", with(minimal("bad"), patch), metav1.DryRunAll), row.message)
			}
		})
	}
}

const claims = `volumeClaimTemplates: [{metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`

// Rules about changes: a valid object, changes that are accepted, and changes
// that are refused.
var updateRules = []struct {
	rule    string
	start   string
	good    []string
	bad     []string
	message string
}{
	{
		rule:    "subGroupPolicy is not added",
		start:   lwt(`size: 8`),
		good:    []string{lwt(`size: 9`)},
		bad:     []string{lwt(`subGroupPolicy: {subGroupSize: 4}`)},
		message: "subGroupPolicy can be neither added nor removed after creation",
	}, {
		rule:    "subGroupPolicy is not removed",
		start:   sub(8, `{subGroupSize: 4}`),
		good:    []string{lwt(`subGroupPolicy: {subGroupPolicyType: LeaderWorker}`), lwt(`workerTemplate: {metadata: {labels: {a: b}}}`)},
		bad:     []string{lwt(`subGroupPolicy: null`)},
		message: "subGroupPolicy can be neither added nor removed after creation",
	}, {
		rule:    "subGroupSize is immutable",
		start:   sub(8, `{subGroupSize: 4}`),
		bad:     []string{lwt(`subGroupPolicy: {subGroupSize: 2}`)},
		message: "subGroupPolicy.subGroupSize is immutable",
	}, {
		rule:    "a resize keeps the subgroups whole",
		start:   sub(8, `{subGroupSize: 4}`),
		good:    []string{lwt(`size: 12`), lwt(`size: 13`)},
		bad:     []string{lwt(`size: 10`)},
		message: "size or size-1 must be divisible by subGroupPolicy.subGroupSize",
	}, {
		rule:    "volumeClaimTemplates do not change",
		start:   lwt(claims),
		good:    []string{lwt(`size: 2`), lwt(claims)},
		bad:     []string{lwt(`volumeClaimTemplates: null`), lwt(`volumeClaimTemplates: []`), lwt(strings.Replace(claims, "1Gi", "2Gi", 1)), lwt(strings.Replace(claims, "name: v", "name: w", 1))},
		message: "volumeClaimTemplates cannot change after creation",
	}, {
		rule:    "volumeClaimTemplates are not added",
		start:   `{}`,
		good:    []string{lwt(`volumeClaimTemplates: []`)}, // the same as none
		bad:     []string{lwt(claims)},
		message: "volumeClaimTemplates cannot change after creation",
	}, {
		rule:    "the longest pod name fits when the set grows",
		start:   long(60, `{}`),
		good:    []string{`spec: {replicas: 100}`},
		bad:     []string{`spec: {replicas: 101}`, lwt(`size: 2`)},
		message: "metadata.name is too long",
	},
}

func TestUpdateRules(t *testing.T) {
	ns := control.NamespaceT(t, "updates")
	for i, row := range updateRules {
		t.Run(row.rule, func(t *testing.T) {
			start := with(minimal(fmt.Sprintf("set-%d", i)), row.start)
			if err := create(t.Context(), ns, start); err != nil {
				t.Fatal(err)
			}
			u := unstructured.Unstructured{Object: start}
			for _, patch := range row.good {
				if err := patchSet(t.Context(), ns, u.GetName(), patch, "", metav1.DryRunAll); err != nil {
					t.Errorf("%s was refused: %v", patch, err)
				}
			}
			for _, patch := range row.bad {
				refused(t, patch, patchSet(t.Context(), ns, u.GetName(), patch, "", metav1.DryRunAll), row.message)
			}
		})
	}
}
