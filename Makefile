# Two commands do all the set-up: `make demo` and `make test`. Both may be run again.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

# Where it is set, every worker and every command that a test starts compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check coverage study soak fuzz stress long-run locks licences sbom bench results
.PHONY: docs page
.PHONY: page-check chromium compiled screenshots clean

demo: $(VENV)/.core
	$(BIN)/metatne demo

# Packages, npm's packages and the browser come over the network: side by side they take less long.
# Four workers on two cores, since tests of the page and the service wait as much as they work.
test:
	@$(MAKE) --no-print-directory --jobs 4 check page-check chromium compiled
	$(BIN)/pytest -m "not slow" --numprocesses 4 --dist loadfile --no-loadscope-reorder

# The same tests, and which lines they run; watching lines takes a quarter longer.
coverage: $(VENV)/.dev page/node_modules chromium
	$(BIN)/coverage run -m pytest -m "not slow" --numprocesses 4 --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# For the tests; a second time it takes seconds.
compiled: $(VENV)/.dev
	$(BIN)/python tests/compile_ahead.py

# The web page, from its sources into the package; what is built is committed.
page: page/node_modules
	cd page && npm run --silent build

# Its types, its unit tests, and whether the committed build is that of the sources.
page-check: page/node_modules
	@if command -v npm >/dev/null; then \
	  cd page && npm run --silent check && npm run --silent test && npm run --silent fresh; \
	else echo "npm is not installed: the page's types and unit tests are not checked"; fi

page/node_modules: page/package.json page/package-lock.json
	@if command -v npm >/dev/null; then \
	  cd page && npm ci --silent --no-audit --no-fund && touch node_modules; \
	else echo "npm is not installed: axe-core is missing, and its tests are skipped"; fi

# A browser for the page's tests; without one they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || \
	  echo "no Chromium, and apt-get could not install it: the browser tests are skipped"

# Pictures of the page in docs/screenshots, from `metatne serve` on the demo's model.
screenshots: $(VENV)/.dev chromium
	$(BIN)/python scripts/write_screenshots.py

# Studies of minutes each, kept out of `make test`.
study: $(VENV)/.dev
	$(BIN)/pytest -m slow

# What wears it out, an hour and more: fuzzing, a service under stress, cycles of training and ranking,
# crashes and corruption. Each part is a target of its own and writes its figures to results/.
soak:
	$(MAKE) --no-print-directory fuzz
	$(MAKE) --no-print-directory stress
	$(MAKE) --no-print-directory long-run
	$(BIN)/pytest -m slow tests/reliability tests/test_quality.py

FUZZ_SECONDS ?= 660
SOAK_SECONDS ?= 1800

fuzz: $(VENV)/.tools
	$(BIN)/python tests/hostile/fuzz.py --seconds $(FUZZ_SECONDS)

stress: $(VENV)/.dev
	$(BIN)/python benchmarks/stress.py --seconds $(SOAK_SECONDS)

long-run: $(VENV)/.dev
	$(BIN)/python benchmarks/long_run.py --seconds $(SOAK_SECONDS)

# Every package by version and hash, from pyproject.toml and constraints.txt; a test says when to.
locks: $(VENV)/.tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/write_locks.py

licences: $(VENV)/.dev
	$(BIN)/python scripts/check_licences.py

# Bills of material (CycloneDX): what the locks allow, with hashes; what is installed, with licences.
sbom: $(VENV)/.tools
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements locks/core.lock --output-reproducible --of JSON -o build/sbom-core.json
	$(BIN)/cyclonedx-py environment $(BIN)/python --output-reproducible --of JSON -o build/sbom-environment.json

# Speed and memory on this machine, goals beside them; then the page that shows them.
bench: $(VENV)/.dev
	$(BIN)/metatne bench all --out results/bench.json
	$(BIN)/python scripts/write_performance_page.py
	$(BIN)/python scripts/write_scale_page.py

# The trials behind RESULTS.md that results/ lacks, days of two cores; may be stopped at any time.
results: $(VENV)/.dev
	$(BIN)/python scripts/run_results.py

# Pages that are generated from the code; a test fails when they are stale.
docs: $(VENV)/.dev
	$(BIN)/python scripts/write_cli_reference.py
	$(BIN)/python scripts/write_errors_page.py
	$(BIN)/python scripts/write_load_table.py
	$(BIN)/python scripts/write_methods_page.py
	$(BIN)/python scripts/write_performance_page.py
	$(BIN)/python scripts/write_scale_page.py

clean:
	rm -rf $(VENV) demo

$(VENV)/bin/pip:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is not installed; set PYTHON=…"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { apt-get update -qq && apt-get install -y -qq python3-venv; } || \
	  { echo "error: Python's venv module is missing: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# Every package by version and SHA-256 (locks/), nothing besides; then ours, built with what is there.
# torch is the CPU build where pip can find it (an index or --find-links), and else PyPI's for CUDA.
# What is never imported need not be compiled, which would take pip most of a minute.
LOCKED := $(BIN)/pip install --quiet --require-hashes --no-deps --no-compile
define install
	$(LOCKED) $(1)
	@echo "$(LOCKED) -r locks/cpu.lock"
	@told=$$(mktemp); $(LOCKED) -r locks/cpu.lock 2>$$told || { grep ERROR $$told; \
	  echo "that CPU build of torch is not to be had here: installing PyPI's, with CUDA"; \
	  $(LOCKED) -r locks/cuda.lock; }; status=$$?; rm -f $$told; exit $$status
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
endef

$(VENV)/.core: $(VENV)/bin/pip pyproject.toml locks/core.lock locks/cpu.lock locks/cuda.lock
	$(call install,-r locks/core.lock)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/pip pyproject.toml locks/core.lock locks/dev.lock locks/cpu.lock locks/cuda.lock
	$(call install,-r locks/core.lock -r locks/dev.lock)
	@touch $@ $(VENV)/.core

$(VENV)/.tools: $(VENV)/.dev locks/tools.lock
	$(LOCKED) -r locks/tools.lock
	@touch $@
