# Everything a fresh machine needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MLSERVER := .venv-mlserver/bin/mlserver

.PHONY: demo test check lint bench docs mlserver clean

demo: $(VENV)/.demo
	$(BIN)/anharmonic demo

test: $(VENV)/.test $(MLSERVER) lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

mlserver: $(MLSERVER)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[sklearn]'
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

# A real model server for the tests, apart because it holds back other packages.
$(MLSERVER):
	$(PYTHON) -m venv .venv-mlserver
	.venv-mlserver/bin/pip install --quiet mlserver==1.7.1

clean:
	rm -rf $(VENV) .venv-mlserver build dist site
