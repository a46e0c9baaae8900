# Every target sets itself up: a virtual environment in .venv with the pinned dependencies.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
# neighbors share what their module has set up; who is done takes from the other's end
PARALLEL := -n 2 --dist worksteal
MUTMUT := PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/mutmut

.DEFAULT_GOAL := help
.PHONY: demo test quick coverage mutants lint bench docs package audit help clean

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## the main job on the embedded data set: 10 x 10-fold edGNN on MUTAG, beside the paper and our closed-form recipe
	@$(BIN)/edgnn reproduce graphs --datasets MUTAG --models majority,edgnn,edgnn-max,wl-subtree,ridge --out demo
	@$(BIN)/edgnn report demo

test: lint  ## lint, types, the whole test suite
	@$(PYTEST) $(PARALLEL)

quick: $(READY)  ## the fast subset of the tests, for the inner loop
	@$(PYTEST) $(PARALLEL) -m "not slow"

lint: $(READY)  ## format, lint, import order, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

bench: $(READY)  ## measure against the peers (see benchmarks/README.md)
	@$(BIN)/python -m benchmarks

coverage: $(READY)  ## the whole test suite with branch coverage; fails below 90 %
	@$(PYTEST) $(PARALLEL) --cov --cov-report=term --cov-report=html:coverage

mutants: $(READY)  ## mutation testing of graphs and wl, a day; SAMPLE=400 for so many at random, MUTANTS='edgnn.wl._refine*' for some
ifdef SAMPLE
	@$(MUTMUT) run 'edgnn.graphs._halo*'  # makes all mutants, notes which tests call what
	@$(MUTMUT) run --max-children 2 $$($(BIN)/python tests/mutant_sample.py $(SAMPLE))
else
	@$(MUTMUT) run --max-children 2 $(MUTANTS)
endif
	@$(BIN)/mutmut results | grep -v 'not checked' || true
	@$(BIN)/python tests/mutant_sample.py

docs: $(READY)  ## the documentation as a site, docs/_build/html/index.html; no warning, no network
	@$(BIN)/sphinx-build -q -W --keep-going -n -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

package: $(READY)  ## wheel and sdist, into dist/
	@$(BIN)/python -m build

audit: $(READY)  ## known vulnerabilities among the pinned packages; needs the network
	@$(BIN)/pip-audit --strict -r constraints.txt --no-deps --disable-pip

clean:  ## remove the virtual environment and all caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage coverage docs/_build mutants dist build

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'
