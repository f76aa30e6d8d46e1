# `make check` and `make test` are the whole ritual; CI runs the same words.

PYTHON ?= python3
# Twice as many test processes as a small machine has cores: many tests wait for processes or clocks.
PYTEST_WORKERS ?= 4
# More arguments for pytest: make test ARGS="tests/unit -k backoff"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes are started by the tests: each would compile the program anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv servers servers-long check test test-fast test-long coverage golden mutants bench bench-full proof proof-quick format docs build clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## 30 s: make .venv with everything for development (again after pyproject.toml changes)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("queuectl needs Python 3.11 or newer; name one: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

check: $(STAMP) ## 1 min: format, lint, types, import directions, docs, work counted for a job
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy --strict src tools bench proof
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docs.py
	$(BIN)/python tools/make_api_docs.py --check
	$(MKDOCS) --quiet
	$(BIN)/python tools/mutation_check.py --check
	$(BIN)/python tools/check_work.py

# Its notice is about what comes after it: docs/adr/0031.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs: $(STAMP) ## the site, in site/: open site/index.html
	$(MKDOCS) --quiet
	@echo "docs: site/index.html; with search: $(PYTHON) -m http.server --directory site"

servers: $(STAMP) ## PostgreSQL, MariaDB and more for the tests: installed if they are neither here nor running
	@$(BIN)/python tools/get_servers.py

servers-long: $(STAMP)
	@$(BIN)/python tools/get_servers.py --long

PYTEST := $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

test-fast: $(STAMP) ## 30 s: unit tests, the store on SQLite, commands in process; while editing
	$(PYTEST) -m fast tests/unit tests/conformance tests/cli $(ARGS)

test: $(STAMP) servers ## 3 min on two cores: the suite, on every engine; before every commit
	$(PYTEST) -m "not long and not proof" $(ARGS)

test-long: $(STAMP) servers-long ## 8 min: what CI adds: browsers, more engines, more rounds, physical limits
	$(PYTEST) -m "long or proof" $(ARGS)

coverage: $(STAMP) servers ## 10 min: lines and branches of src that `make test` reaches
	rm -rf .coverage-data && mkdir .coverage-data
	-$(BIN)/python -m coverage run -m pytest -n $(PYTEST_WORKERS) -q -m "not long and not proof" $(ARGS)
	@$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report
	@echo "coverage: tests that count imports, and those of other users, fail under it"

golden: $(STAMP) ## 10 s: rewrite what each command prints, in tests/cli/golden; read the diff before you commit it
	GOLDEN=rewrite $(BIN)/python -m pytest -q tests/cli/test_golden.py tests/cli/test_mistakes.py

mutants: $(STAMP) servers ## break the program in fifty ways; a test must notice each
	$(BIN)/python tools/mutation_check.py -n $(PYTEST_WORKERS) $(ARGS)

proof: $(STAMP) servers-long ## 1 h: faults on every engine; writes the figures into docs/reliability.md
	-$(BIN)/python -m pip install --quiet --editable '.[proof]'
	$(BIN)/python -m proof $(ARGS)

proof-quick: $(STAMP) servers-long ## minutes: small versions of every part of the proof
	$(BIN)/python -m proof --quick $(ARGS)

bench: $(STAMP) ## 5 min: a short version of all measurements beside their peers
	$(BIN)/python -m bench --quick $(ARGS)

bench-full: $(STAMP) ## 1 h: all of it; writes bench/RESULTS.md and its pictures
	$(BIN)/python -m bench --full

format: $(STAMP) ## put the code into shape
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

build: $(STAMP) ## wheel and source archive in dist/
	rm -rf dist
	$(BIN)/python -m build

clean: ## remove caches and build products (the environment too: rm -r .venv)
	rm -rf dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage-data
	find . -path ./$(VENV) -prune -o -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +
