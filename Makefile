# nodekeeper. `make` alone lists the targets.

GO        ?= go
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
OUT       := _output
CACHE     ?= $(or $(NODEKEEPER_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nodekeeper)
PARALLEL  ?= 9
LABELS    ?= !Slow
TIMELINES ?= 2000
# Vet and staticcheck of test/differential would go through the whole kubelet.
SOURCES   := cmd pkg internal machineconfig packaging test tools
MODULES   := . test test/controlplane test/apiserver test/machineconfig test/report
BUILD     := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
# Where admins run the plugin of oc.
PLUGINS   := $(foreach os,linux darwin windows,$(foreach arch,amd64 arm64,$(OUT)/kubectl-nodekeeper-$(os)-$(arch)))
NODEPAGE  := $(CURDIR)/$(OUT)/report/node.html
STATICCHECK := $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck

export NODEKEEPER_CACHE := $(CACHE)

.DEFAULT_GOAL := help
.PHONY: help test-world test-mutations build machineconfig test-machineconfig image packages test-image build-plugin $(PLUGINS) krew demo test test-unit test-differential test-guard test-manifests test-report test-box test-e2e test-slow prepare bench bench-guard fuzz lint fmt generate clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the programs into _output/
	@mkdir -p $(OUT)
	$(BUILD) -o $(OUT)/nodekeeper ./cmd/nodekeeper
	$(BUILD) -o $(OUT)/nodekeeper-hook ./cmd/hook
	$(BUILD) -o $(OUT)/nodekeeper-promote ./cmd/promote
	$(BUILD) -o $(OUT)/kubectl-nodekeeper ./cmd/kubectl-nodekeeper

machineconfig: ## MachineConfigs for a pool into _output/machineconfig/ROLE (ROLE= IMAGE= FEATURES=restart,logs STEP=install RENDER=more flags)
	@rm -rf $(OUT)/machineconfig/.new
	@$(GO) run ./cmd/nodekeeper render --role='$(ROLE)' --image='$(IMAGE)' $(if $(FEATURES),--features='$(FEATURES)') $(if $(STEP),--step='$(STEP)') $(RENDER) -o $(OUT)/machineconfig/.new >/dev/null
	@rm -rf '$(OUT)/machineconfig/$(ROLE)' && mv $(OUT)/machineconfig/.new '$(OUT)/machineconfig/$(ROLE)' && echo '$(OUT)/machineconfig/$(ROLE)/README.md'

build-plugin: $(PLUGINS) ## build the plugin of oc for linux, darwin and windows into _output/

$(PLUGINS): $(OUT)/kubectl-nodekeeper-%:
	@mkdir -p $(OUT)
	GOOS=$(firstword $(subst -, ,$*)) GOARCH=$(lastword $(subst -, ,$*)) $(BUILD) -o $@ ./cmd/kubectl-nodekeeper

krew: build-plugin ## pack the plugin's builds for a release, with the manifest of krew (VERSION=v1.2.3)
	cd tools && $(GO) run ./krew -version $(VERSION)

demo: build ## reproduce the original bug on a real node and repair it (DEMO=lost-exit for another)
	@cd test && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper $(GO) run ./demo $(DEMO)

image: ## the OCI image for linux/amd64 and linux/arm64 into _output/image (the same source: the same digest)
	cd tools/image && GOWORK=off $(GO) run . build -version '$(VERSION)' -out $(CURDIR)/$(OUT)

packages: ## the .deb and .rpm of a node without a machine config operator into _output/packages
	cd tools/image && GOWORK=off $(GO) run . packages -version '$(VERSION)' -out $(CURDIR)/$(OUT)

test-image: ## the image and the packages: what is in them, and that two builds are one
	cd tools/image && export GOWORK=off && $(GO) vet ./... && $(STATICCHECK) ./... && $(GO) test -timeout 15m ./...

test: lint prepare test-unit test-world test-differential test-guard test-box test-image test-machineconfig test-manifests test-report test-e2e ## everything but the slow cases, on real components (root)

test-unit: ## unit, property and adapter tests of the product
	$(GO) test -race ./...

test-world: ## the restart rules in a simulated world of its own (TIMELINES=2000 for each property)
	NODEKEEPER_TIMELINES=$(TIMELINES) $(GO) test -tags world -timeout 170m ./pkg/restartpolicy/world

test-mutations: ## each inhibitor and each claim of a proof, left out in turn: some test notices (an hour)
	$(GO) test -tags mutations -v -count=1 -timeout 170m -run TestEachInhibitorAndClaimIsNeeded ./pkg/restartpolicy

test-differential: ## the restart rules against the kubelet's own functions
	cd test/differential && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath -vet=off -v ./...

test-guard: prepare ## the watch guard and the promoter against a real API server, with the kubelet's own managers
	cd test/guard && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath -vet=off -short -v ./...
	cd test/promote && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath -vet=off -v ./...

test-machineconfig: ## the MachineConfigs by Butane, Ignition and systemd
	cd test/machineconfig && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath ./...

test-manifests: prepare ## the cluster's objects against a real API server, alerts and dashboards with Prometheus's own code
	cd test/manifests && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath -vet=off ./...

test-report: build ## the page of nodekeeper report in a browser: screens, paper, axe-core (pictures in _output/report)
	cd test/report && GOWORK=off $(GO) run ./prepare
	cd test/report && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper GOWORK=off CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m -v ./...

test-box: prepare ## unit tests of the node in a box, and one box booted
	cd test && $(GO) test ./node/...

test-e2e: build prepare ## e2e cases in boxes (LABELS="!Slow" PARALLEL=9)
	@mkdir -p $(OUT)/report && rm -f $(NODEPAGE)
	cd test && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper NODEKEEPER_PAGE=$(NODEPAGE) $(GO) test -v -count=1 -timeout 60m -parallel $(PARALLEL) ./e2e/... -label-filter='$(LABELS)'
	@# The core cases once more, on a node like those of kubeadm.
	cd test && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper $(GO) test -v -count=1 -timeout 30m -parallel $(PARALLEL) ./e2e/... -plain -label-filter='Core && $(LABELS)'
	@# The page of a real node, in a browser, where the cases that ran have made one.
	@if test -e $(NODEPAGE); then cd test/report && export GOWORK=off && $(GO) run ./prepare && CGO_ENABLED=0 $(GO) test -count=1 -timeout 5m -v -run TestReportPage . -page $(NODEPAGE); fi

test-slow: build prepare ## the longest e2e cases
	cd test/guard && GOWORK=off CGO_ENABLED=0 $(GO) test -trimpath -vet=off -v -timeout 60m ./...
	cd test && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper $(GO) test -v -count=1 -timeout 170m -parallel $(PARALLEL) ./e2e/... -label-filter='Slow && !Bench'

prepare: ## install what the box needs and build the pinned components into the cache
	@cd test && $(GO) run ./node/cmd/box prepare

bench: build prepare bench-guard ## cost of a look, a judgement, the hook and a log; memory and CPU (on an idle machine)
	CGO_ENABLED=0 $(GO) test -run '^$$' -bench . -benchmem ./pkg/... ./cmd/...
	cd test/differential && GOWORK=off CGO_ENABLED=0 $(GO) test -run '^$$' -bench . ./logs
	cd test && NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper $(GO) test -v -count=1 -timeout 40m -run TestFootprint ./e2e/... -label-filter=Bench

bench-guard: build prepare ## what the watch guard costs and saves, by turns with a direct kubelet (on an idle machine)
	cd test/guard && GOWORK=off CGO_ENABLED=0 NODEKEEPER_BINARY=$(CURDIR)/$(OUT)/nodekeeper $(GO) test -trimpath -vet=off -run '^$$' -bench . -benchtime 1x -timeout 40m .

fuzz: ## a minute of fuzzing for each fuzz target
	@for pkg in $$($(GO) list ./pkg/... ./cmd/...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime 60s $$pkg || exit 1; done; done

lint: ## formatting, vet, staticcheck; the plugin of oc on other systems too
	@out=$$(gofmt -l $(SOURCES)); test -z "$$out" || { echo "gofmt: run make fmt: $$out"; exit 1; }
	@for m in $(MODULES); do (cd $$m && $(GO) vet ./... && $(STATICCHECK) ./...) || exit 1; done
	@for os in darwin windows; do GOOS=$$os $(GO) vet ./cmd/kubectl-nodekeeper || exit 1; done

fmt: ## format all Go files
	gofmt -w $(SOURCES)

generate: ## regenerate checked-in generated files
	$(GO) generate ./...
	$(GO) test ./pkg/restartpolicy -run TestTheDocumentIsTheTable -update

clean: ## remove _output and boxes left behind (the cache stays)
	rm -rf $(OUT)
	-@cd test && $(GO) run ./node/cmd/box sweep
