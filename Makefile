# SPDX-License-Identifier: Apache-2.0
#
# make setup     make or repair the virtual environment .venv, compile the hot modules; EXTRAS=all,
#                or names, adds extras
# make platoon   the main scenario, every real part in the chain; results in out/platoon
# make quick     the fast tests, in less than 90 s
# make test      all tests, the fast ones first; PYTEST_ARGS="test/kernel -x" narrows them,
#                WORKERS=0 runs them in one process, one after the other
# make mutants   whether tests notice changed lines: MUTANTS of them, drawn by SEED (takes an hour)
# make durations  measure which tests are slow, and write test/durations.json
# make lint      style, types and import directions
# make reference  write what is generated from the models: tables of the reference, JSON Schema
# make docs      the documentation as a static site with a search: out/site/index.html
# make pictures  the pictures of the documentation, of this version; needs Chromium
# make lock      resolve requirements*.lock again (for maintainers; needs uv)
# make release   build wheel and source archive of the last commit into dist/: the same bytes each time
# make clean     delete everything that was built

PYTHON ?= python3
EXTRAS ?=
PYTEST_ARGS ?=
# Tests of processes wait for half of their time, so there are two workers more than processors; the
# fast ones do not wait. The tests of one file share what they set up: they stay together.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
WORKERS ?= $(if $(filter quick,$(MAKECMDGOALS)),$(PROCESSORS),$(shell echo $$(($(PROCESSORS) + 2))))
# A worker that is killed by what it tests ends the run; a new one would wait for its tests for ever.
PYTEST = .venv/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
  --max-worker-restart 0
LOCK_ARGS ?=
MUTANTS ?= 500
SEED ?= 20260901

# Else each worker compiles all tests again, and each process of a test what only it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup environment platoon quick test mutants durations lint reference docs pictures release lock clean

setup:
	@$(PYTHON) buildtools/set_up.py --extras "$(EXTRAS)"

# As setup; what was edited since the last one runs as Python.
environment:
	@$(PYTHON) buildtools/set_up.py --keep-compiled

platoon: setup
	.venv/bin/cosim run config/platoon.yaml --shape ros --out out/platoon

quick: environment
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

test: environment
	$(PYTEST) $(PYTEST_ARGS)

mutants: environment
	.venv/bin/python -m bench.mutants --mutants $(MUTANTS) --seed $(SEED)

durations: environment
	$(PYTEST) --durations-file test/durations.json $(PYTEST_ARGS)

lint: environment
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

reference: environment
	.venv/bin/python -m buildtools.generate_reference

docs:
	@$(PYTHON) buildtools/set_up.py --keep-compiled --extras docs
	.venv/bin/python buildtools/build_site.py

pictures: environment
	.venv/bin/python docs/images/make_pictures.py

release: environment
	.venv/bin/python buildtools/release.py

lock:
	$(PYTHON) buildtools/lock.py $(LOCK_ARGS)

clean:
	rm -rf .venv build install log out dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
	  .hypothesis .import_linter_cache
	find ros2_cosim test bench buildtools launch -name __pycache__ -prune -exec rm -rf {} +
