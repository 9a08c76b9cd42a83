# `make run` starts a demo server, and `make test` runs all tests. `make help` lists all commands.
SHELL := /bin/bash
CONFIGURATION ?= debug
DATA ?= ./scrollback-data
PORT ?= 8080
# The folder of the release build that bench-instructions measures.
SCRATCH ?= .build
SCROLLBACK = .build/$(CONFIGURATION)/scrollback

.PHONY: help dependencies bundle build run test test-long test-tsan fuzz coverage check check-dependencies
.PHONY: check-sources check-model check-web format mutants bench bench-instructions clean

help: ## Print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

dependencies: ## Install missing system libraries
	@scripts/install-dependencies.sh

bundle: # Only if a source has changed
	@scripts/bundle-web.py --if-stale

build: dependencies bundle
	@echo "Building. The first build takes several minutes."
	swift build -c $(CONFIGURATION) --product scrollback

run: build ## Build and start a server with a demo community
	$(SCROLLBACK) serve --demo --data $(DATA) --port $(PORT)

test: dependencies bundle ## Build and run all tests (about 50 minutes on two cores)
	scripts/test.sh

test-long: dependencies bundle ## Run all tests with full counts, the attacks and the soak (more than two hours)
	scripts/test-long.sh

test-tsan: dependencies ## Run the tests of the engine and the SDK with the thread sanitizer
	scripts/test-tsan.sh

fuzz: dependencies ## Search inputs that crash a decoder of untrusted bytes, a minute for each decoder
	scripts/fuzz.sh

coverage: dependencies ## Run the unit tests and print the line coverage of each module
	scripts/coverage.py

check: check-sources check-model check-web ## Run the checks of CI (-j3: at once): sources, tables, mutants, model, web

# First, because two installations can't run at once.
check-dependencies:
	@scripts/install-dependencies.sh spin tsc:node-typescript esbuild

check-sources: check-dependencies
	swift format lint --strict --recursive --parallel Sources Tests Examples Package.swift
	scripts/check-imports.py
	scripts/check-language.py
	scripts/check-references.py
	scripts/check-push-options.py
	scripts/vendor-tables.py --self-test
	scripts/vendor-tables.py --check
	scripts/mutants.py --check
	scripts/check-snippets.sh

check-model: check-dependencies
	scripts/check-model.sh

check-web: check-dependencies
	scripts/check-web.sh
	scripts/web-declarations.sh --check
	scripts/bundle-web.py --check

format: ## Format all sources
	swift format format --in-place --recursive --parallel Sources Tests Examples Package.swift

mutants: dependencies ## Apply each mutant of Tests/Mutants to a scratch copy and check that a test fails
	scripts/mutants.py

bench: dependencies ## Run all benchmarks in a release build
	$(MAKE) -C Benchmarks

bench-instructions: ## Compare the instructions of fixed work with Benchmarks/instructions.json
	@scripts/install-dependencies.sh valgrind
	swift build -c release --product scrollback-bench --scratch-path $(SCRATCH)
	scripts/bench-instructions.py --bench $(SCRATCH)/release/scrollback-bench

clean:
	rm -rf .build .build-*
