# Two commands do all the set-up: `make demo` and `make test`. Both may be run again.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check coverage study bench docs clean

demo: $(VENV)/.core
	$(BIN)/metatne demo

test: check
	$(BIN)/pytest -m "not slow" --numprocesses 2 --dist worksteal

# The same tests, and which lines they run; watching lines takes a quarter longer.
coverage: $(VENV)/.dev
	$(BIN)/coverage run -m pytest -m "not slow" --numprocesses 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Studies of minutes each, kept out of `make test`.
study: $(VENV)/.dev
	$(BIN)/pytest -m slow

# Speed and memory on this machine, goals beside them; then the page that shows them.
bench: $(VENV)/.dev
	$(BIN)/metatne bench all --out results/bench.json
	$(BIN)/python scripts/write_performance_page.py
	$(BIN)/python scripts/write_scale_page.py

# Pages that are generated from the code; a test fails when they are stale.
docs: $(VENV)/.dev
	$(BIN)/python scripts/write_cli_reference.py
	$(BIN)/python scripts/write_errors_page.py
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

$(VENV)/.core: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,cluster,experiments,service]'
	@touch $@ $(VENV)/.core
