# Two commands do everything: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
CONFIGURATION ?= debug
DATA ?= ./scrollback-data
PORT ?= 8080
SCROLLBACK = .build/$(CONFIGURATION)/scrollback

.PHONY: help dependencies build run test test-long check format mutants bench outside clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

dependencies: ## Install the system libraries that are missing
	@scripts/install-dependencies.sh

build: dependencies
	@echo "building (the first time takes some minutes) …"
	swift build -c $(CONFIGURATION) --product scrollback

run: build ## Build, and start a server with a small community to look at
	$(SCROLLBACK) serve --demo --data $(DATA) --port $(PORT)

test: dependencies ## Build and run all tests, some twenty minutes
	scripts/test.sh

test-long: dependencies ## Every test with full counts: seeds, logs, crashes; about an hour
	scripts/test-long.sh

check: dependencies ## What CI checks besides the tests: format, walls, examples, an outside app
	swift format lint --strict --recursive --parallel Sources Tests Examples Package.swift
	scripts/check-walls.sh
	scripts/check-snippets.sh
	scripts/check-outside-app.sh

format: ## Format all sources
	swift format format --in-place --recursive --parallel Sources Tests Examples Package.swift

mutants: ## Plant each bug of Tests/Mutants in a scratch copy, and see that a test catches it
	scripts/mutants.sh

bench: dependencies ## Measure, release build
	$(MAKE) -C Benchmarks

clean:
	rm -rf .build .build-*
