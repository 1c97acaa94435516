# `make test` and `make reproduce` do all the set-up themselves: they need Python 3.11 or newer, pip, make and
# a C compiler. Run `make help` for the list.

PYTHON  ?= python3
VENV    ?= .venv
OLDEST  ?= .venv-oldest
WORKERS ?= 2
# What `make test-oldest` hands to pytest; `make test-oldest OLDEST_TESTS=` runs the whole suite.
OLDEST_TESTS ?= -m 'not slow' tests/adapters/test_adapters.py tests/package/test_catalogue.py tests/docs/test_docs.py tests/simulation/test_store.py
# The least share of lines and branches that the tests must reach, in percent.
COVERAGE ?= 85

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
READY := $(VENV)/.ready

# Some distributions leave ensurepip out of Python: then the pip at hand fills the new environment.
define new_environment
$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(1) || { \
    $(PYTHON) -m venv --clear --without-pip $(1) && \
    $(PYTHON) -m pip --python $(1)/bin/python install --quiet pip; }
endef

.DEFAULT_GOAL := help
.PHONY: help setup setup-oldest test test-slow test-oldest test-docs docs notebooks dist lint types unit format reproduce bench attack lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make the virtual environment from the lock file

$(READY): requirements.lock pyproject.toml src/hlmc/versions.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hlmc needs Python 3.11 or newer; set PYTHON=... to name one")'
	$(call new_environment,$(VENV))
	$(PIP) install --quiet -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.docs: $(READY) requirements-docs.lock
	$(PIP) install --quiet -r requirements-docs.lock
	@touch $@

docs: $(VENV)/.docs ## the documentation site, as build/site/index.html
	$(BIN)/python scripts/docs.py

# The site shows the outputs that are stored in the notebooks; this runs them and compares.
notebooks: $(VENV)/.docs ## run the notebooks
	HLMC_DOCS_TESTS=1 $(BIN)/pytest -q tests/docs/test_books.py -k "gives_what_it_shows or look_ahead"

test-docs: docs notebooks ## build the site, open it in a browser, and run the notebooks
	$(BIN)/pytest -q tests/site

dist: $(VENV)/.docs ## the wheel and the source distribution, checked, in dist/
	rm -rf dist
	$(BIN)/hatchling build
	$(BIN)/twine check --strict dist/*

test: lint types unit ## ruff, mypy and all tests but the slow ones

# Warnings of old packages about one another are not ours to mend, so they are no errors here.
test-oldest: $(OLDEST)/.ready ## a short form of the tests, on the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/python -m pytest -q -n $(WORKERS) -p no:cacheprovider -o filterwarnings= $(OLDEST_TESTS)

setup-oldest: $(OLDEST)/.ready ## make the virtual environment of test-oldest

$(OLDEST)/.ready: pyproject.toml scripts/oldest.py
	$(call new_environment,$(OLDEST))
	$(PYTHON) scripts/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet -c $(OLDEST)/constraints.txt --editable '.[test]'
	@touch $@

lint: $(READY) ## ruff: rules and layout
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy in strict mode
	$(BIN)/mypy

# Coverage cannot look into compiled code. So the tests marked `interpreted` run first with the compiler off, which
# shows the kernels line by line, and then the whole suite with the compiler on adds to the same record.
# Status 5 of the first pass means that no test carries the mark. The slow tests are a stage of their own.
unit: $(READY) ## pytest with branch coverage
	HLMC_JIT=0 $(BIN)/pytest -q -n $(WORKERS) -m interpreted --cov --cov-report= || test $$? -eq 5
	$(BIN)/pytest -n $(WORKERS) -m 'not slow' --cov --cov-append --cov-report=term-missing:skip-covered --cov-fail-under=$(COVERAGE)

test-slow: $(READY) ## the tests that take long or need a browser, an emulator or another compiler; CI runs them too
	$(BIN)/pytest -q -n $(WORKERS) -m slow

format: $(READY) ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reproduce: $(READY) ## the paper's figures and claims at a tenth of its horizons, as report/index.html
	$(BIN)/hlmc reproduce --quick --out report

bench: $(READY) ## run the timings, which no test depends on
	@set -e; for script in $(filter-out benchmarks/gpu_games.py, $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

attack: $(READY) ## try to break what SECURITY.md promises; prints a table, takes an hour
	$(BIN)/python scripts/attack.py

lock: ## choose the newest versions that fit and pin them in the lock files
	$(PYTHON) scripts/lock.py

clean: ## remove everything that git does not keep
	rm -rf $(VENV) $(OLDEST) build dist report .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests scripts studies -name __pycache__ -type d -prune -exec rm -rf {} +
