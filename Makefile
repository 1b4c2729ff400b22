.DEFAULT_GOAL := help
.PHONY: help setup demo demo-full test test-long journeys probes cluster agents check mutants build wheel-test lowest-versions schemas docs

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Set up, then `autoweb demo`: two recorded models in a small shop, in seconds
	@scripts/setup --demo
	@.venv/bin/autoweb demo

demo-full: ## Set up, run the bundled cases on two controls and four models (minutes)
	@scripts/setup --demo-full
	@scripts/demo-full

test: ## Set up, then lint, types, architecture and the suite; with LONG=1 also its long tests
	@scripts/setup --test
	@scripts/check
	@scripts/test $(if $(LONG),--all)

test-long: ## Only the long tests: whole journeys of users, kills, a sample of the hostile probes
	@scripts/test --long

journeys: ## Only tests of minutes: the site, the CI templates, the desk, runs compared whole
	@scripts/test --journeys

probes: ## Only the hostile probes: each in a session alone and in one with workers
	@scripts/probes

cluster: ## Only the tests of cells on a Ray cluster, whose nodes are killed; installs Ray first
	@scripts/cluster

agents: ## Install seven outside agents and compare them with the built-in ones on twenty tasks
	@scripts/agents

setup: ## Only set up: .venv, packages, a browser
	@scripts/setup

check: ## Only lint (Python and JavaScript), types and architecture
	@scripts/check

mutants: ## Change the code that decides verdicts, line by line, and count what the tests notice
	@scripts/mutants

build: ## Build the wheel and the sdist into dist/
	@scripts/build

wheel-test: ## Build the wheel and run sessions with it, away from the sources
	@scripts/wheel-test

lowest-versions: ## Run a case and tests on the lowest declared versions, on Python 3.11 to 3.13
	@scripts/lowest-versions

docs: ## Build the documentation into site/, where broken links are errors
	@scripts/docs

schemas: ## Regenerate docs/schema/ from the code
	@for kind in case report; do .venv/bin/autoweb debug schema $$kind >docs/schema/$$kind.json; done
