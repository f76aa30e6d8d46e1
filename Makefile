# `make check` and `make test` are the whole ritual; CI runs the same words.

PYTHON ?= python3
# As many test processes as a small machine has cores; tests start processes of their own.
PYTEST_WORKERS ?= 2
# More arguments for pytest: make test ARGS="tests/unit -k backoff"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv servers check test bench bench-full format build clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## make .venv with everything for development (again after pyproject.toml changes)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("queuectl needs Python 3.11 or newer; name one: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

check: $(STAMP) ## format, lint, types, import directions, docs, work counted for a job
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy --strict src tools bench proof
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docs.py
	$(BIN)/python tools/make_api_docs.py --check
	$(BIN)/python tools/check_work.py

servers: $(STAMP) ## PostgreSQL, MariaDB and Chromium for the tests: installed if they are neither here nor running
	@$(BIN)/python tools/get_servers.py

# The second run is as on a system that is not Linux: what only Linux has is replaced by its fallbacks. Those
# know nothing of engines, so one of them is enough.
test: $(STAMP) servers ## the test suite, then its processes again with the fallbacks for other systems
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(ARGS)
ifeq ($(ARGS),)
	QUEUECTL_PORTABLE=1 $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal tests/crash tests/worker -k "not postgres and not mysql"
endif

bench: $(STAMP) ## a short version of all measurements beside their peers, within five minutes
	$(BIN)/python -m bench --quick $(ARGS)

bench-full: $(STAMP) ## all of it, for an hour or more; writes bench/RESULTS.md and its pictures
	$(BIN)/python -m bench --full

format: $(STAMP) ## put the code into shape
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

build: $(STAMP) ## wheel and source archive in dist/
	rm -rf dist
	$(BIN)/python -m build

clean: ## remove caches and build products (the environment too: rm -r .venv)
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./$(VENV) -prune -o -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +
