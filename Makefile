# `make` is what a change should pass before it is pushed; `make help` lists the rest.
# The checks themselves are the steps of .ci/run, so that both do the same.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := all
.NOTPARALLEL:

.PHONY: all
all: fmt vet lint test tidy clean-tree ## Format, vet, lint, test, check go.mod files and that all is committed

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F '\t' '{ printf "%-12s %s\n", $$1, $$2 }'

.PHONY: fmt
fmt: ## Format every Go file (gofmt, goimports)
	@.ci/run linter
	bin/golangci-lint fmt

.PHONY: vet
vet: ## Run go vet
	@.ci/run vet

.PHONY: lint
lint: ## Run golangci-lint in every module
	@.ci/run lint

.PHONY: test
test: ## Test every module of the workspace
	@.ci/run work

.PHONY: race
race: ## Test with the race detector
	@.ci/run race

.PHONY: soak
soak: ## Put real servers under load, and draw ten minutes of it (SOAK) in bin/soak.svg
	@SOAK=$(or $(SOAK),10m) .ci/run soak

.PHONY: node
node: ## Run the official conformance suite and the TypeScript clients; UPDATE=1 writes what they show
	@.ci/run node

.PHONY: redis
redis: ## Test contrib/redis on a real Redis and on a cluster; SOAK=1m lets two servers soak
	@.ci/run redis

.PHONY: fuzz
fuzz: ## Fuzz every target, one after another, for FUZZTIME (1s)
	@.ci/run fuzz

.PHONY: adversary
adversary: ## Attack real servers with hostile requests, each for ADVERSARY_TIME (1h)
	@ADVERSARY_TIME=$(or $(ADVERSARY_TIME),1h) .ci/run adversary

.PHONY: bench
bench: ## Measure into bin/bench.txt; compare with OLD=file. BENCH=regexp COUNT=6
	@mkdir -p bin
	go test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),6) ./... | tee bin/bench.txt
	$(if $(OLD),GOWORK=off go build -C internal/tools -buildvcs=false -o ../../bin/benchstat golang.org/x/perf/cmd/benchstat)
	$(if $(OLD),bin/benchstat $(OLD) bin/bench.txt)

.PHONY: costs
costs: ## Write what is measured beside others into docs/load.md and docs/packages.md
	go run ./internal/bench -write
	go run ./internal/bench -weigh -write

.PHONY: servers
servers: ## Ask public servers how they fail, and write the tables behind docs/evidence.md; needs npm
	go run ./cmd/mcpchain/internal/servers -write

.PHONY: cover
cover: ## Show what the tests of all packages reach; details in bin/cover.html
	@mkdir -p bin
	go test -coverpkg=./... -coverprofile=bin/cover.out ./...
	go tool cover -html=bin/cover.out -o bin/cover.html
	go tool cover -func=bin/cover.out | tail -n 1

.PHONY: site
site: ## Build docs/ as a site, in bin/site
	@.ci/run site

.PHONY: tidy
tidy: ## Check that every go.mod and go.sum is tidy
	@.ci/run tidy

.PHONY: release-check
release-check: ## Use HEAD as users would if it were tagged: the README's server, each package, each command
	@.ci/run release

.PHONY: clean-tree
clean-tree: ## Check that nothing is left uncommitted
	@if [[ -n $$(git status --porcelain) ]]; then git status --short; echo 'make: not committed (or made by the checks)'; exit 1; fi

.PHONY: ci
ci: ## Run everything that the continuous integration runs
	@.ci/run
