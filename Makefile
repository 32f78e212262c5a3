# Everything runs in a virtual environment of its own, .venv, which is made when it is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test lint bench torture audit clean

help:
	@echo "make demo     train, predict, explain on the embedded data; see demo/report.html"
	@echo "make test     run the tests"
	@echo "make lint     check style and types"
	@echo "make bench    time and memory beside other ways, all or NAME=...; see docs/benchmarks.md"
	@echo "make torture  bad input, faults, extreme numbers and load in their long form, all or NAME=..."
	@echo "make audit    look for known weaknesses in what is installed (needs the network)"
	@echo "make install  set up .venv (the others do it when needed)"
	@echo "make clean    remove .venv, caches and the demo's results"

install: $(INSTALLED)

# Made again only when what should be in it has changed. The exact pin of torch in the constraints
# lets pip take a build without CUDA where one is offered.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(INSTALLED)
	$(BIN)/grafenne demo --out demo

# The tests' graphs are tiny: more threads would only wait for each other, so each core has a worker
# of its own. TESTS=tests/nn runs a part, TESTS="-n 0 ..." in one process.
TESTS ?=
test: export OMP_NUM_THREADS ?= 1
test: $(INSTALLED)
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python scripts/readme_table.py --check

NAME ?= all
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(NAME) $(ARGUMENTS)

# One thread, as the results are compared bit for bit.
torture: export OMP_NUM_THREADS ?= 1
torture: $(INSTALLED)
	$(BIN)/python -m torture $(NAME) $(ARGUMENTS)

# The tool lives in an environment of its own: what it needs is no part of what it looks at. Without
# --strict it calls packages clean that its database does not answer for.
audit:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet pip-audit
	$(VENV)-audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

clean:
	rm -rf $(VENV) $(VENV)-audit demo build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
