# Everything runs from .venv in this directory. Paths are relative: the directory's own may hold spaces.
SHELL := /bin/sh
.DEFAULT_GOAL := help
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

PYTHON := .venv/bin/python
EDBENCH := .venv/bin/edbench
DEMO_JOB = $(PYTHON) -c 'import json; print(json.load(open(".demo/result.json"))["job_id"])'
LINTED = $(wildcard core sql monitoring dataset_gen queue_manager worker controller experiments web cli benchmarks tests)

.PHONY: help setup demo test lint types bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do \
		printf '  make %-6s %s\n' "$$name" "$$what"; done

setup: ## make .venv with everything in it, as locked; again only when the lock or pyproject.toml changed
	@sh scripts/setup.sh

demo: setup ## generate a small corpus, run a discovery job over it, verify it, print the result
	@mkdir -p .demo
	@test -e .demo/corpus/dataset.json || rm -rf .demo/corpus
	@test -e .demo/corpus || $(EDBENCH) generate .demo/corpus --profile reference --scale 0.002 --seed 7
	@! test -e .demo/result.json || $(EDBENCH) delete "$$($(DEMO_JOB))" >/dev/null 2>&1 || true
	@rm -f .demo/result.json
	$(EDBENCH) discover .demo/corpus --workers 2 --json .demo/result.json
	$(EDBENCH) verify "$$($(DEMO_JOB))"
	@job="$$($(DEMO_JOB))"; printf '\nThe job is there to be looked at, for instance:\n'; \
		printf '  $(EDBENCH) job %s\n  $(EDBENCH) search %s "type:message/rfc822"\n' "$$job" "$$job"

test: setup ## run all tests (PYTEST_ARGS="-k name" for some)
	@$(PYTHON) -m pytest $(PYTEST_ARGS)

lint: setup ## check style and formatting with ruff
	@$(PYTHON) -m ruff check $(LINTED)
	@$(PYTHON) -m ruff format --check $(LINTED)

types: setup ## check types with mypy, strict
	@$(PYTHON) -m mypy

bench: setup ## measure this machine on a reference corpus; prints the figures and writes bench.json
	@$(PYTHON) -m benchmarks $(BENCH_ARGS)

clean: ## remove .venv, the demo's corpus, caches and build products; jobs (.edbench, edbench-storage) stay
	@rm -rf .venv .demo build edbench.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis bench.json
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
