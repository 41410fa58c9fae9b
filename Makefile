# What people and continuous integration run. Needed: Go, make and git; all else
# is pinned in go.mod files and built from source when it is first used. Prometheus
# alone is Debian's.

.NOTPARALLEL: # test stops at the first failure, and two cores are busy with one step
.DEFAULT_GOAL := help

# The race detector needs cgo, and with it a C compiler. RACE=-race insists on it.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# The control plane's launcher finds its pinned versions next to its source, which
# -trimpath in the user's GOFLAGS would hide.
E2E_FLAGS := -trimpath=false

# More packages of end-to-end tests at once than this make each other slow.
E2E_PARALLEL ?= 2
# Longest time for one package of end-to-end tests.
E2E_TIMEOUT ?= 20m

# The module that writes the dashboards, whose tests check their queries.
DASHBOARDS := deploy/monitoring/dashboards/generate

say = @printf '\n== %s\n'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the controller into bin/
	go build -o bin/lws-controller .

.PHONY: generate
generate: ## make deepcopy functions, the CRD and the dashboards anew, and tidy go.mod
	api/generate.sh
	go -C $(DASHBOARDS) run .
	go mod tidy
	go -C e2e mod tidy
	go -C e2e/tools mod tidy
	go -C $(DASHBOARDS) mod tidy

.PHONY: test
test: fmt vet lint verify unit rules prove e2e ## all checks and tests, in the order fmt vet lint verify unit rules prove e2e
	$(say) 'all passed'

.PHONY: fmt
fmt: ## check that gofmt has nothing to change
	$(say) 'fmt: gofmt'
	@files=$$("$$(go env GOROOT)/bin/gofmt" -l .) && \
		{ test -z "$$files" || { printf 'run gofmt -w on:\n%s\n' "$$files"; exit 1; }; }

.PHONY: vet
vet: ## go vet
	$(say) 'vet: go vet, all modules'
	go vet ./...
	go -C e2e vet ./...
	go -C e2e/tools vet ./...
	go -C $(DASHBOARDS) vet ./...

.PHONY: lint
lint: ## staticcheck, at the version pinned in e2e/tools
	$(say) 'lint: staticcheck (built when first used, a minute)'
	go tool -modfile=e2e/tools/go.mod staticcheck ./...
	go -C e2e tool -modfile=tools/go.mod staticcheck ./...
	go -C $(DASHBOARDS) tool -modfile=$(CURDIR)/e2e/tools/go.mod staticcheck ./...

.PHONY: verify
verify: ## check that generated files and go.mod files are fresh
	$(say) 'verify: generated files, go.mod files'
	api/generate.sh --check
	go -C $(DASHBOARDS) run . -check
	go mod tidy -diff
	go -C e2e mod tidy -diff
	go -C e2e/tools mod tidy -diff
	go -C $(DASHBOARDS) mod tidy -diff

.PHONY: unit
unit: ## unit tests, with the race detector; no control plane
	$(say) 'unit: go test $(or $(RACE),without -race: no C compiler)'
	KUBE_CACHE_MUTATION_DETECTOR=true go test $(RACE) ./...
	go -C $(DASHBOARDS) test ./...

# promtool is that of the machine, or else of Debian's package, unpacked into the user's
# cache folder.
.PHONY: rules
rules: ## check alerts and recording rules, and run their tests, with promtool
	$(say) 'rules: promtool'
	@bin=$$(e2e/monitoring/prometheus.sh) && cd deploy/monitoring/plain && \
		"$$bin/promtool" check rules rules.yaml && "$$bin/promtool" test rules rules_test.yaml

# With the race detector the simulator and the tables of pods try a sample only. What no run
# of the simulator and no scenario comes to has a reason, or is dead.
.PHONY: prove
prove: ## check the core at a hundred thousand crash points, and that they reach all of it, save what has a reason; check all tables of pods
	$(say) 'prove: the tables of pods; the core, in the simulator and in scenarios'
	go test ./topology
	@mkdir -p bin
	go test -coverpkg=./controller/group,./controller/rollout -coverprofile=bin/coverage ./controller/sim ./controller/scenario
	go test ./controller/sim -run TestCoreIsCovered -profile=../../bin/coverage -v

.PHONY: mutants
mutants: ## plant bugs in the controller and check that an invariant names each
	$(say) 'mutants: planted bugs'
	go test ./controller/mutant -mutants -count=1 -v -timeout 20m

.PHONY: control-plane
control-plane: ## build the control plane for tests and demo, unless it is there
	@go -C e2e run $(E2E_FLAGS) ./cmd/cluster build

.PHONY: browser
browser: ## install Chromium for the tests of the status page, unless it is there
	@e2e/page/browser.sh

# Results are not cached: they depend on programs that go test does not know.
.PHONY: e2e
e2e: ## end-to-end tests on a real control plane
	$(say) 'e2e: the control plane, built once'
	@$(MAKE) --no-print-directory control-plane
	@$(MAKE) --no-print-directory browser
	$(say) 'e2e: go test $(or $(RACE),without -race: no C compiler), $(E2E_PARALLEL) packages at a time'
	KUBE_CACHE_MUTATION_DETECTOR=true go -C e2e test $(E2E_FLAGS) $(RACE) -count=1 \
		-p $(E2E_PARALLEL) -timeout $(E2E_TIMEOUT) ./...

# Built and run in two steps: go run would not pass on the signal that ends it.
.PHONY: demo
demo: ## see it run: control plane, controller, a set; DEMO_EXIT=1 ends it after success
	@go -C e2e build $(E2E_FLAGS) -o ../bin/demo ./cmd/demo
	@exec bin/demo

.PHONY: cluster-up
cluster-up: ## start a control plane in the background and print its kubeconfig
	@go -C e2e run $(E2E_FLAGS) ./cmd/cluster up

.PHONY: cluster-down
cluster-down: ## stop it and drop its data
	@go -C e2e run $(E2E_FLAGS) ./cmd/cluster down

.PHONY: clean
clean: ## remove bin/; the control plane's programs stay in the user's cache folder
	rm -rf bin
