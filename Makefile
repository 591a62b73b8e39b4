# Everything a fresh machine needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MLSERVER := .venv-mlserver/bin/mlserver

.PHONY: demo test test-first test-rest slow faults check lint audit bench docs mlserver chromium clean

demo: $(VENV)/.demo
	$(BIN)/anharmonic demo

# Two processes of about equal length, one per core; the second takes all that the first does not.
FIRST := tests/findings tests/llm tests/serve tests/monitor tests/studies tests/models

test: $(VENV)/.test $(MLSERVER) chromium lint
	$(MAKE) --no-print-directory -j2 --output-sync=target test-first test-rest

test-first:
	$(BIN)/python -m pytest $(FIRST)

test-rest:
	$(BIN)/python -m pytest $(addprefix --ignore=,$(FIRST))

# Reduced studies that train networks: minutes.
slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow -s

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/audit.py --offline

# Known vulnerabilities need pip-audit and a network; it says when it could not look.
audit: $(VENV)/.test
	$(BIN)/python .ci/audit.py

# Long faults: fuzzed requests to every server, damaged files, kills.
faults: $(VENV)/.test
	$(BIN)/python -m benchmarks.service mutated
	$(BIN)/python -m benchmarks.gateway
	$(BIN)/python -m benchmarks.mutations
	$(BIN)/python -m benchmarks.kills

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

mlserver: $(MLSERVER)

# A browser draws pictures into files and opens reports in the tests.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq chromium; \
	else echo "The tests need chromium: sudo apt-get install chromium, or your system's package." >&2; exit 1; fi

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
