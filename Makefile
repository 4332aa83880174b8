# Everything runs from .venv in this directory. Paths are relative: the directory's own may hold spaces.
SHELL := /bin/sh
.DEFAULT_GOAL := help
# Without bytecode on disk every process compiles the product again, more than a second each.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

# The interpreter that .venv is made with: `make setup PYTHON=python3.13`; everything else runs in .venv.
SETUP_PYTHON := $(PYTHON)
unexport PYTHON
override PYTHON := .venv/bin/python
EDBENCH := .venv/bin/edbench
LINTED = $(wildcard core search packages traces sql monitoring dataset_gen queue_manager worker controller experiments web cli benchmarks scripts tests conftest.py)

.PHONY: help setup house demo test smoke test-browser test-bundle test-chaos test-containers test-corpus test-mutants test-nfs test-search truth fuzz fuzz-long audit bundle sbom calibration fit-r1 bench-scale bench-simulate lint lock types formats-page settings-page schemas screenshots bench bench-charsets bench-formats bench-starts up down scale clean bench-review bench-workers test-filers test-filers-ci results

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name what; do \
		printf '  make %-15s %s\n' "$$name" "$$what"; done

setup: ## create .venv with all locked packages; does nothing until the lock or pyproject.toml changes
	@EDBENCH_SETUP_PYTHON='$(SETUP_PYTHON)' sh scripts/setup.sh

demo: ## generate a corpus, run a discovery job, verify it, and scale it up on an emulated filer (about 90 s)
	@EDBENCH_SETUP_PYTHON='$(SETUP_PYTHON)' EDBENCH_SETUP_OPTIONS=--no-dev sh scripts/setup.sh
	@$(PYTHON) scripts/demo.py

# Three processes on two cores: jobs under test wait for storage and for each other. The long ones come first, and what only
# computes in between (tests/support/systems/dealing.py). A process that dies ends the run: by file, xdist waits for ever for
# the tests that it had been given.
test: setup ## run all tests (PYTEST_ARGS="-k name" for some)
	@$(PYTHON) -m pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(PYTEST_ARGS)

# A job by the command and one run by the tests themselves, with its results; statements on a real server; readers of each
# family; the rules of the house.
SMOKE := tests/acceptance/test_discover.py::test_a_job_finds_exactly_what_the_manifest_states \
	tests/integration/controller/test_controller_results.py tests/integration/sql/test_sql_ledger.py \
	packages/readers/tests/mail/test_eml.py packages/readers/tests/archives/test_zip.py packages/readers/tests/office/test_ooxml.py \
	packages/readers/tests/documents/test_pdf.py tests/unit/worker/items tests/unit/sql \
	tests/unit/test_declared_imports.py tests/unit/test_house.py tests/unit/test_layers.py

smoke: setup ## run the few tests that break first, in less than a minute; a part of `make test`
	@$(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(SMOKE) $(PYTEST_ARGS)

test-browser: setup ## test the web UI in a real browser (skips without chromium); also part of `make test`
	@$(PYTHON) -m pytest -rs tests/acceptance/test_browser.py packages/storage_tests/tests/acceptance/test_browser_profile.py $(PYTEST_ARGS)

test-containers: setup ## run the system in containers, kill some, compare (skips without a Docker engine)
	@$(PYTHON) -m pytest -rs tests/acceptance/test_containers.py $(PYTEST_ARGS)

test-chaos: setup ## run 25 jobs with faults at random moments, every other job type with a fault, a database that loses its last commits; some minutes
	@$(PYTHON) -m pytest -rs -n 2 --dist load tests/acceptance/chaos_campaign.py tests/acceptance/database_crash.py $(PYTEST_ARGS)

test-corpus: setup ## check the reference corpus at scale 0.01: totals, shares, hash, a discovery job that finds all of it; long
	@$(PYTHON) -m pytest -rs tests/corpus/reference_corpus.py $(PYTEST_ARGS)

test-nfs: setup ## run a job on a real NFS mount in an emulated guest and compare the counts; long (skips where not possible)
	@$(PYTHON) tests/nfs $(NFS_ARGS)

test-filers: setup ## run every command and storage test on tmpfs, ext4, xfs, btrfs, MooseFS, GlusterFS (and S3), some on exFAT and NTFS, with killed servers and full disks (skips without root)
	@$(PYTHON) -m pytest -rs tests/acceptance/filers/real_filers*.py $(PYTEST_ARGS)

# Calls on each storage, a job on MooseFS, a brick of GlusterFS killed, two full or read-only disks: as much as CI has time for.
FILERS_CI := filers_calls or (every_turn and moosefs) or (brick and glusterfs and expand) or (in_the_middle and full and index and btrfs) or read_only

test-filers-ci: setup ## run the part of `make test-filers` that CI runs, in a few minutes
	@$(MAKE) --no-print-directory test-filers PYTEST_ARGS='-vv -k "$(FILERS_CI)"'

truth: setup ## check verdicts on storage whose limit is known in advance; 20 quiet minutes (TRUTH_ARGS="--only link")
	@$(PYTHON) tests/truth $(TRUTH_ARGS)

test-bundle: setup ## install the archive of `make bundle` in a namespace without a network, and run a job (skips without root)
	@$(PYTHON) -m pytest -rs tests/acceptance/offline_bundle.py $(PYTEST_ARGS)

test-search: setup ## run the tests over generated inputs with more and new inputs each time; long
	@HYPOTHESIS_PROFILE=search $(PYTHON) -m pytest -n 2 --dist loadfile tests/unit packages/*/tests $(PYTEST_ARGS)

test-mutants: setup ## read 20,000 damaged files, in processes that may die; two CPU minutes (MUTANTS_ARGS="--seed 5" for others)
	@PYTHONPATH=tests/support $(PYTHON) -m mutants $(MUTANTS_ARGS)

fuzz: setup ## fuzz each of our own parsers with libFuzzer (atheris) for SECONDS=10; FUZZ_ARGS="--only msg,tnef" for some
	@test -e .fuzz/lib/atheris || $(PYTHON) -m pip install --quiet --require-hashes --only-binary :all: --no-deps \
		--target .fuzz/lib -r packages/readers/tests/fuzz/requirements.txt
	@PYTHONPATH=tests/support:packages/readers/tests/support:.fuzz/lib $(PYTHON) packages/readers/tests/fuzz --seconds $(or $(SECONDS),10) $(FUZZ_ARGS)

fuzz-long: ## fuzz each for a full minute or longer (SECONDS=60); half an hour on two cores
	@$(MAKE) --no-print-directory fuzz SECONDS=$(or $(SECONDS),60)

lock: setup ## write uv.lock again after a change of dependencies, with the addresses of the public index
	@.venv/bin/uv lock --quiet --default-index https://pypi.org/simple $(LOCK_ARGS)

audit: setup ## list known vulnerabilities of all locked packages and of what their wheels hold; reports when no database answers
	@$(PYTHON) scripts/audit.py

sbom: setup ## write sbom.json (CycloneDX): every locked package with its hashes, licence and the contents of its wheel
	@$(PYTHON) scripts/sbom.py

lint: setup ## check style and formatting with ruff
	@$(PYTHON) -m ruff check $(LINTED)
	@$(PYTHON) -m ruff format --check $(LINTED)
	@.venv/bin/uv lock --quiet --check --offline --default-index https://pypi.org/simple

types: setup ## check types with mypy, strict
	@$(PYTHON) -m mypy

house: setup ## print the size of the code base: lines, modules, functions, words to replace
	@$(PYTHON) scripts/house.py

formats-page: setup ## generate docs/formats.md from the format handlers
	@$(EDBENCH) formats --markdown > docs/formats.md

settings-page: setup ## generate docs/settings.md from the options of a discovery and the environment variables
	@$(PYTHON) scripts/settings_page.py

screenshots: setup ## write docs/images: the web UI during a real job, and the chart of a real scale-up (needs chromium)
	@$(PYTHON) scripts/screenshots.py $(SCREENSHOTS_ARGS)

schemas: setup ## generate docs/schemas/*.json from the dataclasses of the documents
	@$(PYTHON) scripts/schemas.py

bench: setup ## measure this machine on a reference corpus; prints the figures and writes bench.json
	@$(PYTHON) -m benchmarks $(BENCH_ARGS)

bench-formats: setup ## compare speed and text of each format with Apache Tika on the same files (without java: ours alone)
	@$(PYTHON) -m benchmarks.formats $(BENCH_ARGS)

bench-charsets: setup ## measure how many texts in 45 languages and 68 undeclared character sets are read correctly
	@$(PYTHON) -m benchmarks.charsets $(BENCH_ARGS)

calibration: setup ## measure what the pipeline demands by phase and type of item, for `edbench simulate`; half an hour (ARGS="--work DIR")
	@$(PYTHON) scripts/calibration.py $(ARGS)

fit-r1: setup ## fit the seven parameters of packages/simulate/simulate/sites/r1.toml to report R1's rows with one database; a quarter of an hour
	@$(PYTHON) scripts/fit_r1.py $(ARGS)

bench-simulate: setup ## run small discoveries on emulated filers and compare them with their simulation; a quarter of an hour
	@$(PYTHON) -m benchmarks.simulated $(BENCH_ARGS)

bench-scale: setup ## simulate 1,000 and 10,000 workers, 1 to 64 databases and 1 PB; minutes
	@$(PYTHON) -m benchmarks.scale $(BENCH_ARGS)

bench-review: setup ## de-duplicate and DeNIST a million items in a database of their own; some quiet minutes, 2 GB of disk
	@$(PYTHON) -m benchmarks.review $(BENCH_ARGS)

bench-starts: setup ## measure the start-up time of commands
	@$(PYTHON) -m benchmarks.starts $(BENCH_ARGS)

bench-workers: setup ## measure the cost per item with 1, 2 and 4 workers (BENCH_ARGS="--floor --base DIR" adds the floor and another checkout)
	@$(PYTHON) -m benchmarks.workers $(BENCH_ARGS)

results: setup ## measure a mounted storage for docs/dev/results (RESULTS_ARGS="--mount DIR --name NAME"), or --check or --recompute what is published
	@$(PYTHON) -m benchmarks.results $(RESULTS_ARGS)

bundle: setup ## write an archive that installs without a network: wheels, repository, images of the engine if there is one
	@sh scripts/bundle.sh $(BUNDLE)

up: ## start the system in containers: N=4 workers (2); writes .env if there is none
	@sh scripts/compose-env.sh
	@docker compose build --quiet controller
	@docker compose up --detach --wait --remove-orphans --scale worker=$(or $(N),2) || { \
		docker compose logs --no-log-prefix --tail 1 storage controller worker >&2; exit 1; }
	@docker compose exec -T controller edbench token || true

scale: ## change the number of worker containers: N=8
	@case "$(N)" in ''|*[!0-9]*) echo "make scale: give the number of workers, as in: make scale N=8" >&2; exit 2;; esac
	@docker compose up --detach --wait --no-recreate --no-deps --scale worker=$(N) worker

down: ## stop the system in containers; databases and the shared directory are kept
	@docker compose --profile '*' down --remove-orphans

clean: ## remove .venv, the demo's corpus, caches and build products; jobs (.edbench, edbench-storage) are kept
	@rm -rf .venv .demo .fuzz build edbench.egg-info packages/*/build packages/*/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis bench.json bench-formats.json bench-starts.json .bench-cache sbom.json bench-review.json bench-workers.json edbench-*.tar
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
