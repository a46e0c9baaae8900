# Every target sets itself up: a virtual environment in .venv with the pinned dependencies.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: demo test quick lint bench docs help clean

$(READY): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once; a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## the main job on the embedded data set: 10 x 10-fold edGNN on MUTAG, beside the paper and our closed-form recipe
	@$(BIN)/edgnn reproduce graphs --datasets MUTAG --models majority,edgnn,edgnn-max,wl-subtree,ridge --out demo
	@$(BIN)/edgnn report demo

test: lint  ## lint, types, the whole test suite
	@$(PYTEST) -n 2

quick: $(READY)  ## the fast subset of the tests, for the inner loop
	@$(PYTEST) -n 2 -m "not slow"

lint: $(READY)  ## format, lint, import order, types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/mypy

bench: $(READY)  ## measure against the peers (see benchmarks/README.md)
	@$(BIN)/edgnn bench

docs: $(READY)  ## check that every link and command of the documentation is real
	@$(PYTEST) tests/integration/test_documentation.py

clean:  ## remove the virtual environment and all caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'
