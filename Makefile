# Everything that is done to this tree. `make help` lists the targets. Each target sets up what it
# needs: the tools are Go modules of their own under tools/, built once into .cache/bin.

SHELL := bash -euo pipefail
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

BIN   ?= $(CURDIR)/.cache/bin
BENCH ?= .
COUNT ?= 6
SCALE ?= -ingresses 2000 -groups 100 -arriving 2000 -steady 5m
ROWS  ?= 2000/100,10000/500,10000/500/100,1000/1,5000/1
CHAOS ?= -chaos 1h
DEMO  ?= $(if $(DIALECT),examples/$(DIALECT),config/samples)
MUTATED ?= controllers/... providers/... model/plan/... model/planner/...

# Tests that need libraries which the binary does not link are modules of their own.
TESTED := test/hostile test/config test/golden test/kubectl test/policy test/alerts test/openapi test/image tools/man examples/caddy
# These read files or run commands of another module, which go test does not look at to find out whether a result still holds.
UNCACHED := test/neutral test/nginx test/site tools/release tools/mutants

export PATH := $(BIN):$(PATH)
# What was compiled in one clone is not compiled again in another.
export GOFLAGS := -trimpath

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Serve the samples on this machine: no cluster, no cloud; DIALECT=nginx: those for ingress-nginx; PROVIDER=caddy: by a Caddy server
ifdef PROVIDER
	tools/demo $(PROVIDER) $(DEMO) $(if $(DIALECT),--from $(DIALECT))
else
	go run . demo -f $(DEMO) $(if $(DIALECT),--from $(DIALECT))
endif

# -short leaves out tests that start a control plane or an emulator, and tries a part of many cases, drawn anew in each run.
# STARTING has no other tests, but for a few that presubmit runs: it is checked and not linked, which would take a quarter
# of the time that linking takes. The environment sets the garbage collector, as results with -exec are not cached.
STARTING := test/operator test/chaos test/conformance test/rollout test/scale test/kube test/pods test/failover test/moto

.PHONY: test
test: ## What to wait for while working: no control plane, no emulator
	go run . demo --once
	go vet $(STARTING:%=./%)
	GOGC=400 go test -short -p 3 -vet=off -timeout 15m $(filter-out $(STARTING:%=fairlead.dev/fairlead/%),$(shell go list ./...))
	GOGC=400 go -C test/golden test -short ./...

.PHONY: t
t: ## Test one package while you change it: P=model/planner
	go test -short -vet=off ./$(P)/...

.PHONY: setup
setup: controlplane site chromium axe nginx $(BIN)/helm $(BIN)/kubectl ## Build what tests need, once: go test ./... works by itself then

# Each test runs once: with the race detector where goroutines are, without it in
# - the model and the API types, which compute for minutes and start no goroutine, to which
#   test/goroutines_test.go holds them, and test/fuzz, test/incumbent and test/limits, which ask the model;
# - cli/saved and test/changes, which do so, too;
# - test and test/gate, which read files and run scripts;
# - test/adoption and test/alb, which run the provider for minutes: a life of a load balancer has the detector;
# - test/check, which runs `check` and `prove` for minutes: what they call is tested in cli and providers;
# - test/moto, which is an emulator that is not written in Go;
# - cli, but for the commands that serve or ask others;
# - tests that do nothing but ask an operator that is a process: test/failover runs the same process, built with the
#   detector (test/kube/race.go);
# - controllers, but for the tests in which most happens at once;
# - what two namespaces can do to each other in controllers/loadbalancer: thousands of reconciles, one after the other,
#   for which the detector takes ten minutes.
COMPUTE := api/provider/v1 api/v1alpha1 cli/saved model/... test test/changes test/gate test/fuzz test/limits test/adoption test/alb test/check test/incumbent test/moto
WAIT := test/operator controllers test/chaos test/conformance test/rollout test/scale
UNRACED := $(COMPUTE) $(WAIT) cli
SERVING := Demo|Provider|Token|Certificates|Check|Prove
FIGHTS := Neighbour|Fight|Closed|AnyStepOfBob|AcrossARestart|AnswersNo|Violat|ThatStays|ThatIsThereTwice
RACED = $(filter-out $(UNRACED:%=fairlead.dev/fairlead/%) %/model fairlead.dev/fairlead/model/% %/controllers/loadbalancer,$(shell go list ./...))
BUSY := TheSecondReplicaTakesOver|AFollowerIsWarm|APlanEndsWhereAnotherOperatorHasBegunOne|WhatAnotherOperatorHasTakenIsLookedAtAnew
BUSY := $(BUSY)|AnOperatorThatIsStoppedFinishesTheStepUnderWay|ALargeLoadBalancerHoldsNobodyUp|ACertificateIsReplacedUnderLoad
BUSY := $(BUSY)|MetricsMove|AnAPIServerThatIsAwayTakesNothingWithIt
BUSY := ^Test($(BUSY)|RealNoRequestEverGoesAstray)$$
TEST := go test -count 1 -p 2 -vet=off -timeout 30m
# Collecting garbage is a fifth of the work of tests that compute, and there is memory for it. Not for compilers and linkers.
GARBAGE := -exec 'env GOGC=400'

.PHONY: race
race: controlplane ## Run the tests that look for data races; needs a C compiler
	$(TEST) -race $(GARBAGE) -run '$(BUSY)' ./controllers
	$(TEST) -race $(GARBAGE) -run '$(BUSY)' ./test/alb -reallives 1
	$(TEST) -race $(GARBAGE) -skip '$(FIGHTS)' ./controllers/loadbalancer
	$(TEST) -race $(GARBAGE) -run '$(SERVING)' ./cli
	$(TEST) -race $(GARBAGE) $(RACED)

# What the image is made of is compiled for both of its platforms, which takes minutes the first time.
.PHONY: nested
nested:
	printf '%s\n' $(TESTED) | xargs -I {} go -C {} test -timeout 30m ./...
	printf '%s\n' $(UNCACHED) | xargs -I {} go -C {} test -count 1 -timeout 30m $(GARBAGE) ./...

.PHONY: compute
compute: race
	$(TEST) $(GARBAGE) -run '$(FIGHTS)' ./controllers/loadbalancer
	$(TEST) $(GARBAGE) -skip '$(SERVING)' ./cli
	$(TEST) $(GARBAGE) $(COMPUTE:%=./%)

# Tests that wait for operators and control planes, most of their time, run beside those that compute: all cores are busy.
# What go vet finds, `make lint` finds, in tests too.
.PHONY: test-all
test-all: setup ## Run each test once
	go run . demo --once
	go -C test/oldest/types build ./...
	$(TEST) -p 1 -skip '$(BUSY)' $(WAIT:%=./%) & operators=$$!; make nested & nested=$$!; failed=0; \
	make compute || failed=1; wait $$nested || failed=1; wait $$operators || failed=1; exit $$failed

# A test that takes minutes tries a part of its cases in each run, and all of them here: test/nightly.
.PHONY: nightly
nightly: setup moto ## Try everything, for hours: all cases, an emulator of AWS, an hour of chaos, large clusters, millions of plans
	NIGHTLY=1 $(MAKE) test-all
	$(MAKE) proof SEED=$$RANDOM
	$(MAKE) chaos
	$(MAKE) scale

.PHONY: conformance
conformance: controlplane ## Request what every Ingress controller has to answer, and print how that went; SUITE=folder, PROVIDER=caddy
ifdef SUITE
	go -C $(SUITE) test -c -o $(CURDIR)/.cache/suite .
	go run ./test/cluster sh -c 'cd "$$0" && exec "$$@"' $(SUITE) $(CURDIR)/.cache/suite --ingress-class fairlead $(FLAGS)
else
	$(if $(PROVIDER),go -C examples/$(PROVIDER) build -o $(CURDIR)/.cache/$(PROVIDER)-provider .)
	PROVIDER_COMMAND=$(if $(PROVIDER),$(CURDIR)/.cache/$(PROVIDER)-provider) go test -count 1 -v ./test/conformance
endif

# The toolchain is the one of go.mod and no newer one: another one compiles and compresses to other bytes.
.PHONY: release
release: ## Make a release of this commit in dist/VERSION: VERSION=v0.1.0, DOWNLOADS=address; see docs/contributing/releasing.md
	@GOTOOLCHAIN=$$(awk '$$1 == "toolchain" {print $$2}' go.mod) \
		go -C tools/release run . -tree $(CURDIR) -version '$(VERSION)' $(if $(DOWNLOADS),-downloads '$(DOWNLOADS)')

.PHONY: presubmit
presubmit: setup ## What CI runs
	$(MAKE) verify & verify=$$!; failed=0; $(MAKE) lint || failed=1; wait $$verify || failed=1; exit $$failed
	$(MAKE) test-all

.PHONY: hooks
hooks: ## Have git check the subject of each commit: dir, 72 characters
	git config core.hooksPath tools/hooks

.PHONY: lint
lint: $(BIN)/golangci-lint ## Check the code against .golangci.yml
	for module in . $(TESTED) $(UNCACHED); do (cd $$module && golangci-lint run); done

.PHONY: generate
generate: $(BIN)/controller-gen ## Write what is generated from code, and tidy go.mod
	go generate ./...
	go -C test/policy test -run '^TestPolicy$$' -update .
	tools/chart
	for module in . test/oldest/types $(TESTED) $(UNCACHED); do go -C $$module mod tidy; done

.PHONY: verify
verify: $(BIN)/controller-gen ## Check that what is generated is what is committed
	tools/verify generate

.PHONY: man
man: ## Write manual pages to dist/man
	go -C tools/man run . $(CURDIR)/dist/man

.PHONY: golden
golden: ## Write what the golden stories print; their requests are yours to write
	go -C test/golden test -run '^TestGolden$$' -update .

.PHONY: bench
bench: $(BIN)/benchstat $(if $(filter .,$(BENCH)),scale) ## Run the benchmarks: BENCH=pattern COUNT=runs; compares with .cache/bench.base
	@mkdir -p .cache
	go test -run '^$$' -bench '$(BENCH)' -benchmem -cpu 1 -count $(COUNT) ./... | tee .cache/bench.new
	benchstat $(wildcard .cache/bench.base) .cache/bench.new

.PHONY: mutants
mutants: ## Change the code in one place at a time and see that a test fails; takes minutes; MUTATED='providers'
	go -C tools/mutants run . -tree $(CURDIR) $(MUTATED)

.PHONY: sample
sample: ## Try 60 mutants, drawn at random, for two minutes; SEED=7
	go -C tools/mutants run . -tree $(CURDIR) -quick 1s -sample 60 -within 2m -seed $(or $(SEED),0) $(MUTATED)

.PHONY: proof
proof: ## Compare verdicts about random plans with walks through their states, on all cores: PLANS=1000000 SEED=7
	GOGC=400 go test ./model/proof -count 1 -timeout 0 -v -run '^TestVerdictsAreThoseOfAWalk$$' -plans $$(($(or $(PLANS),1000000) / 2)) -seed $(or $(SEED),1)

.PHONY: chaos
chaos: controlplane ## Let random faults happen to the operator for an hour, and judge what is answered: CHAOS='-chaos 10m -seed 1'
	go test -v -count 1 -timeout 2h ./test/chaos $(CHAOS)

# With ROWS nothing else is measured.
.PHONY: scale
scale: controlplane ## Measure the operator on large clusters: SCALE='-ingresses 10000 -groups 500', ROWS=1000/1, with BASE=revision MEMORY=305MiB ALONE=1 PROVIDER=aws SHAPE=secrets
ifneq ($(origin ROWS),command line)
	go test -v -count 1 -timeout 1h ./test/scale -run '^TestScale$$' $(SCALE)
endif
ifdef BASE
	rm -rf .cache/base && git worktree prune && git worktree add --detach .cache/base $(BASE)
	ln -sfn $(CURDIR)/.cache .cache/base/.cache
endif
	go test -v -count 1 -timeout 2h ./test/scale -run '^TestRows$$' -rows $(ROWS) $(if $(MEMORY),-memory-limit $(MEMORY)) $(if $(BASE),-base $(CURDIR)/.cache/base) $(if $(ALONE),-alone) $(if $(PROVIDER),-provider $(PROVIDER)) $(if $(SHAPE),-shape $(SHAPE))

# The usual KUBEBUILDER_ASSETS have no kube-controller-manager: what they lack is built.
CONTROLPLANE := $(CURDIR)/.cache/controlplane
OLDEST := $(CURDIR)/.cache/oldest
ASSETS := $(if $(KUBEBUILDER_ASSETS),$(notdir $(wildcard $(KUBEBUILDER_ASSETS)/*)))

.PHONY: controlplane
controlplane: $(addprefix $(CONTROLPLANE)/,$(filter-out $(ASSETS),etcd kube-apiserver kube-controller-manager)) ## Build the API server that tests run on, once; takes minutes

.PHONY: compat
compat: controlplane $(OLDEST)/kube-apiserver $(BIN)/helm $(BIN)/kubectl ## Run the operator's tests on the oldest API server that is supported
	KUBEBUILDER_ASSETS=$(OLDEST) go test ./controllers
	KUBEBUILDER_ASSETS=$(OLDEST) go -C test/config test ./...

# The control plane is whatever its module pins, and says so when asked for its version.
define build-controlplane
	@echo "Building $(@:$(CURDIR)/%=%), once"
	@version=$$(go -C $(1) list -m -f '{{.Version}}' k8s.io/kubernetes) && \
	CGO_ENABLED=0 go -C $(1) build -o $@ \
		-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$$version" ./$(@F)
	@touch $@
endef

$(CONTROLPLANE)/%: test/controlplane/%/main.go test/controlplane/go.mod test/controlplane/go.sum
	$(call build-controlplane,test/controlplane)

$(OLDEST)/%: test/oldest/apiserver/%/main.go test/oldest/apiserver/go.mod test/oldest/apiserver/go.sum
	$(call build-controlplane,test/oldest/apiserver)

MOTO := $(CURDIR)/.cache/moto

.PHONY: moto
moto: $(MOTO)/bin/moto_server ## Install moto, an emulator of AWS that tests run on, once

# `pip-compile --generate-hashes requirements.in` pins what is installed.
$(MOTO)/bin/moto_server: test/moto/requirements.txt
	@echo "Installing moto, once"
	@rm -rf $(MOTO) && python3 -m venv $(MOTO)
	@$(MOTO)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

ZENSICAL := $(CURDIR)/.cache/zensical
BROWSERS := chromium chromium-browser google-chrome

.PHONY: site
site: $(ZENSICAL)/bin/zensical ## Build the site of docs/ in .cache/site/site; a link that leads nowhere is an error
	tools/site/build $<

# `pip-compile --generate-hashes --strip-extras requirements.in` pins what is installed.
$(ZENSICAL)/bin/zensical: tools/site/requirements.txt
	@echo "Installing Zensical, once"
	@rm -rf $(ZENSICAL) && python3 -m venv $(ZENSICAL)
	@$(ZENSICAL)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# test/site opens the site in a browser. Elsewhere than on Debian as root, install one by hand.
.PHONY: chromium
chromium:
	@if [ -z "$$(command -v $(BROWSERS))" ] && [ -n "$$(command -v apt-get)" ] && [ "$$(id -u)" = 0 ]; then \
		echo "Installing Chromium, once"; apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium > /dev/null || true; fi
	@[ -n "$$(command -v $(BROWSERS))" ] || echo "None of $(BROWSERS) is in PATH: test/site needs one"

.PHONY: screenshots
screenshots: chromium ## Take the pictures of the page for the docs
	go -C test/site test -count 1 -run '^TestPicturesOfThePage$$' -update .

# test/site asks axe-core about accessibility. Its version and its hash are in the lock file.
.PHONY: axe
axe: .cache/axe/node_modules/axe-core/axe.min.js

.cache/axe/node_modules/axe-core/axe.min.js: tools/axe/package-lock.json
	@if command -v npm > /dev/null; then mkdir -p .cache/axe && cp tools/axe/*.json .cache/axe/ && \
		cd .cache/axe && npm ci --no-audit --no-fund --silent && touch node_modules/axe-core/axe.min.js; else echo "npm is not in PATH: test/site needs it for axe-core"; fi

NGINX := $(CURDIR)/.cache/nginx
PACKAGES := nginx libnginx-mod-http-lua libnginx-mod-http-ndk libnginx-mod-http-headers-more-filter lua-resty-core lua-resty-lrucache libluajit2-5.1-2 libpcre3

# test/nginx asks nginx, with modules of the same distribution. It is unpacked, not installed: that needs no root.
.PHONY: nginx
nginx: $(NGINX)/usr/sbin/nginx ## Unpack the nginx that test/nginx asks, on Debian, once

$(NGINX)/usr/sbin/nginx:
	@echo "Unpacking nginx, once"
	@rm -rf $(NGINX) && mkdir -p $(NGINX)/packages
	@cd $(NGINX)/packages && { [ "$$(id -u)" != 0 ] || apt-get update -qq; }; \
		for package in $(PACKAGES); do apt-get download -qq "$$package" 2> /dev/null || true; done # libpcre3 is not everywhere
	@for package in $(NGINX)/packages/*.deb; do dpkg -x "$$package" $(NGINX); done
	@rm -r $(NGINX)/packages
	@[ -f $@ ] && touch $@ || echo "There is no package of nginx: test/nginx needs one"

# A tool is whatever the module of its name pins.
$(BIN)/%: tools/%/go.mod tools/%/go.sum
	GOBIN=$(BIN) go -C tools/$* install tool
	@touch $@
