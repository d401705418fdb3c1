# Every command of this repository, the same for people and for CI. Python 3.11 or newer and make
# are all that a machine needs; whatever else is used is installed into .venv, from locked hashes.

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin

# The stamps stand in .venv, so that they go when it goes.
VENV := .venv/.created
RUN := .venv/.installed-run
DEV := .venv/.installed-dev
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup run test quick check fix docs requirements bench prove lock
.DELETE_ON_ERROR:

help: ## list these commands
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: $(RUN) ## install Coven into .venv
	@echo "Coven is installed: $(BIN)/coven. Start it with: make run"

run: $(RUN) ## install what is needed, start the daemon and say what to try next
	@$(BIN)/coven up

test: $(DEV) ## install what the tests need and run all of them
	@$(BIN)/python -m scripts.run_tests --numprocesses $(WORKERS)

quick: $(DEV) ## run the quick tests, on the embedded store only (less than 60 s)
	@$(BIN)/python -m scripts.run_tests --numprocesses $(WORKERS) \
		-m "not fault and not prove and not slow" -k "not postgres"

check: $(DEV) ## format, lint, types, floors, generated pages (less than 60 s)
	@$(BIN)/python -m scripts.check

fix: $(DEV) ## format, repair what can be repaired, write the generated pages again
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/python -m scripts.write_docs

docs: $(DEV) ## write the pages that are generated from the code
	@$(BIN)/python -m scripts.write_docs

requirements: $(DEV) ## print each promise of the specification with the tests that prove it
	@$(BIN)/python -m tests.spec.manifest

bench: $(DEV) ## run the benchmarks, each beside its reference
	@$(BIN)/python -m benchmarks

prove: $(DEV) ## run the fault and property suites at full counts and record them
	@$(BIN)/python -m scripts.prove $(WORKERS)

lock: $(VENV) ## resolve the dependencies again and write requirements/*.txt
	@$(PIP) install uv
	@$(BIN)/python -m scripts.lock

$(VENV):
	@sh scripts/make_venv.sh $(PYTHON)
	@touch $@

$(RUN): $(VENV) requirements/run.txt pyproject.toml
	@echo "Installing Coven into .venv"
	@$(PIP) install --require-hashes --requirement requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(DEV): $(RUN) requirements/dev.txt
	@echo "Installing what the tests need into .venv"
	@$(PIP) install --require-hashes --requirement requirements/dev.txt
	@touch $@
