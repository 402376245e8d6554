# `make` alone lists the targets.

GO        ?= go
PKG       ?= ./...
BENCH     ?= .
TIMEOUT   ?= 10m

# Pinned here and not in go.mod: a linter's hundred modules are nobody's
# dependencies but its own.
LINTER    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Without this a clone that belongs to somebody else (a container's mount)
# does not build: git refuses to answer there.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help build test race soak mutants bench cover golden generate verify lint fmt clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the program into bin/
	$(GO) build -o bin/fencerow ./cmd/fencerow

# The model checker takes both cores for a minute: its packages come after
# those whose tests wait for real processes. go test need not vet: all of it
# has been vetted, by more analyzers.
test: ## vet, then every test; gets itself a PostgreSQL server if need be
	$(GO) vet $(PKG)
	@report=$$(mktemp); trap 'rm -f "$$report"' EXIT; \
	heavy='/transitions/verify$$|/internal/broken$$'; all=$$($(GO) list $(PKG)) || exit 1; \
	timed=$$(echo "$$all" | grep -Ev "$$heavy"); busy=$$(echo "$$all" | grep -E "$$heavy"); \
	FENCEROW_SUITE_REPORT=$$report; export FENCEROW_SUITE_REPORT; \
	if [ -n "$$timed" ]; then $(GO) test -vet=off -count=1 -timeout $(TIMEOUT) $$timed || exit 1; fi; \
	if [ -n "$$busy" ]; then $(GO) test -vet=off -count=1 -timeout $(TIMEOUT) $$busy || exit 1; fi; \
	sort "$$report"; \
	if [ '$(PKG)' = ./... ]; then for store in machine.Memory sqlitestore.Store pgstore.Store; do \
		grep -q "[1-9][0-9]* cases of table standard on .*$$store" "$$report" || { echo "no suite ran on $$store"; exit 1; }; \
	done; fi
	@tested=$$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(PKG) | grep -c .); \
	echo "ok: vet found nothing, the tests of all $$tested packages that have any passed"

race: ## every test under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -count=1 -race -timeout 20m $(PKG)

soak: ## the long form of what make test runs short: the model checker, spin on the table, linearizability, every step on both databases, the kill test ten times
	@command -v spin >/dev/null || { echo "make soak needs spin, the model checker: apt-get install spin, or https://spinroot.com" >&2; exit 1; }
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		{ echo "make soak needs a C compiler: apt-get install gcc libc6-dev" >&2; exit 1; }
	FENCEROW_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -v -run 'LargerBound' ./transitions/verify
	FENCEROW_TEST_LONG=1 $(GO) test -count=1 -v -timeout 90m -run 'Spin' ./transitions/promela
	FENCEROW_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run 'Order' ./internal/hostile
	FENCEROW_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run 'Whatever|ToldToEnd' ./internal/e2e
	$(GO) test -count=10 -timeout 60m -run 'TestKilled' ./internal/e2e

mutants: ## take every guard and clause away, one at a time, and see who notices; goes on where it was; ARGS='-parallel 4'
	@mkdir -p bin
	$(GO) run ./internal/mutants/cmd $(ARGS)

# A module of its own, which no other target looks into.
bench: ## the engine against the same by hand and against its peers, a line a figure; BENCH=pattern chooses, ARGS=-h tells more
	cd bench && $(GO) vet ./... && $(GO) run . -only '$(BENCH)' $(ARGS)

cover: ## every test, with a coverage profile in cover.out
	$(GO) test -count=1 -timeout $(TIMEOUT) -coverpkg=./... -coverprofile=cover.out $(PKG)
	$(GO) tool cover -func=cover.out | tail -n 1

golden: ## accept what the tests make now as golden files; then read the diff
	@packages=$$($(GO) list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' $(PKG) \
		| grep ' [^ ]*internal/golden\( \|$$\)' | cut -d ' ' -f 1); \
	if [ -z "$$packages" ]; then echo "no package of $(PKG) has golden files"; \
	else $(GO) test -count=1 $$packages -update; fi

generate: ## write every generated file anew
	$(GO) generate $(PKG)

verify: ## fail if a committed generated file is stale; changes nothing
	@GO='$(GO)' .ci/verify

lint: ## formatting and the linters of .golangci.yml
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) run $(LINTER) run $(PKG)

fmt: ## format the source
	gofmt -w .

clean: ## remove what the other targets leave
	rm -rf bin cover.out
