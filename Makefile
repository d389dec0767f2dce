# SPDX-License-Identifier: Apache-2.0
# The only list of commands. `make` alone prints it.

# Another interpreter: make setup PYTHON=python3.12
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup check test browser screenshot demo bench soak lock clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## make .venv, install the pinned tools, compile the engine
	@$(BIN)/python engine/build.py --tests

$(INSTALLED): requirements/dev.txt pyproject.toml hatch_build.py
	@command -v $(PYTHON) >/dev/null || { echo "setup: no $(PYTHON) on PATH; install Python 3.11 or newer, or name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) engine/check_tools.py
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

check: setup ## lint, types, layers and unit tests; under two minutes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest tests/unit --numprocesses=2 --dist=loadfile

# The tests start dozens of JVMs, each for seconds: what is compiled for hours of use would never pay.
ARCHIVE := $(CURDIR)/build/spark-classes.jsa
QUICK_JVM := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile=$(ARCHIVE) -Xlog:disable

test: check $(ARCHIVE) browser ## everything in tests/, against a real Spark and a real Kafka
	JAVA_TOOL_OPTIONS="$(QUICK_JVM)" $(BIN)/pytest tests --ignore=tests/unit --numprocesses=2 --dist=loadfile --no-loadscope-reorder

# Only the tests of the dashboard need one: whoever just uses Headrace does not.
browser: $(INSTALLED)
	@$(BIN)/python tests/chromium.py

screenshot: setup browser ## draw docs/images/dashboard.png anew, from the demo as it runs; about five minutes
	HEADRACE_SCREENSHOT=$(CURDIR)/docs/images/dashboard.png $(BIN)/pytest tests/browser/test_demo_dashboard.py -m soak

$(ARCHIVE): $(INSTALLED) tests/class_archive.py
	@$(BIN)/python tests/class_archive.py $@

demo: setup ## card fraud, first in micro-batch, then in real-time mode (ARGS="--seconds 60")
	@$(BIN)/python examples/demo $(ARGS)

soak: setup $(ARCHIVE) browser ## harm applications at random, and count (ARGS="--kills 100"); then the tests that take too long
	JAVA_TOOL_OPTIONS="$(QUICK_JVM)" $(BIN)/python -m tests.failure.soak $(ARGS)
	JAVA_TOOL_OPTIONS="$(QUICK_JVM)" $(BIN)/pytest tests -m soak

bench: setup ## measure latency; results go to bench-results
	@$(BIN)/python benchmarks/bench.py $(ARGS)

lock: setup ## renew requirements/dev.txt and the locks of the jars
	@$(BIN)/python requirements/lock.py
	@$(BIN)/python engine/lock.py

clean: ## remove what the targets above made; the cache of jars stays
	rm -rf .venv build dist src/headrace/engine/jars .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
