# make train | make test: each sets up what it needs on a fresh machine first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TYPES  := .cache/types/yieldrl
# One version of each package, so that a newer one is a change that somebody made.
PIP    := $(BIN)/python -m pip install --quiet -c .ci/constraints.txt
# make train CPU=1: PyTorch without CUDA, which takes a tenth of it.
ifdef CPU
export PIP_EXTRA_INDEX_URL := https://download.pytorch.org/whl/cpu
endif

.PHONY: setup course train test ray test-all pages planted libero robots lint format matrix release docs browser bench clean
.DEFAULT_GOAL := setup

# A stamp for each set of packages, so that training needs no pytest, and the tests that
# are always run need nothing that films, compiles for a GPU, or drives a browser.
$(VENV)/.core: pyproject.toml setup.py .ci/constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "yieldrl needs Python 3.11 or newer; name one with make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

# The game MinAtar is held against ours. It draws with pandas and SciPy, and we do not.
$(VENV)/.test: $(VENV)/.core
	$(PIP) -e '.[test]'
	$(PIP) --no-deps minatar
	touch $@

# Ray, which is large, for the tests of clusters.
$(VENV)/.ray: $(VENV)/.test
	$(PIP) -e '.[ray,test]'
	touch $@

$(VENV)/.dev: $(VENV)/.ray
	$(PIP) -e '.[dev]'
	mkdir -p $(dir $(TYPES)) && ln -sfn ../.. $(TYPES)
	touch $@

setup: $(VENV)/.dev

# The chapters, their exercises and the notebooks; far less than `setup`.
$(VENV)/.course: $(VENV)/.core
	$(PIP) -e '.[course]'
	touch $@

course: $(VENV)/.course

train: $(VENV)/.core
	$(BIN)/yieldrl train ppo

# A process for each core; one that is done takes over tests of another.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/.test
	$(PYTEST) -m 'not slow' --ignore tests/distributed

# One process, because one that has Ray must not fork.
ray: $(VENV)/.ray
	$(BIN)/python -m pytest -m 'not slow' tests/distributed

# For a night or a release: every algorithm, engine, simulator, page, notebook and
# browser. `planted` runs all tests, and sees whether they notice the bugs planted.
test-all: $(VENV)/.dev
	$(MAKE) planted browser libero robots

# The code of the pages, or of those that differ from a revision: make pages SINCE=main
pages: $(VENV)/.dev
	.ci/pages $(SINCE)

planted: $(VENV)/.dev
	$(BIN)/python -m tests.planted --map

# LIBERO needs mujoco < 4, and so an environment of its own.
LIBERO := .venv-libero
PIP_LIBERO := $(LIBERO)/bin/python -m pip install --quiet -c .ci/constraints-libero.txt
# What paints without a screen, of Debian and Ubuntu.
PAINTS := libegl1 libgl1-mesa-dri libgles2 libopengl0 libglx-mesa0 libgl1 libosmesa6

$(LIBERO)/.dev: pyproject.toml .ci/constraints-libero.txt
	test -x $(LIBERO)/bin/python || $(PYTHON) -m venv $(LIBERO)
	$(PIP_LIBERO) -e '.[libero,vla]' hypothesis pytest pytest-xdist
	touch $@

libero: $(LIBERO)/.dev
	@.ci/install $(PAINTS)
	$(LIBERO)/bin/python -m pytest -n auto --dist loadfile tests/envs/libero

# Meta-World pins an old mujoco, and so robots of others have an environment of their own.
ROBOTS := .venv-robots
PIP_ROBOTS := $(ROBOTS)/bin/python -m pip install --quiet -c .ci/constraints-robots.txt

$(ROBOTS)/.dev: pyproject.toml .ci/constraints-robots.txt
	test -x $(ROBOTS)/bin/python || $(PYTHON) -m venv $(ROBOTS)
	$(PIP_ROBOTS) -e '.[robots]' hypothesis pytest
	touch $@

robots: $(ROBOTS)/.dev
	$(ROBOTS)/bin/python -m pytest tests/envs/robots

# The built site in Chromium, which the system has to have.
browser: docs
	YIELDRL_SITE=site $(PYTEST) tests/browser

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The same tests on other versions of Python and PyTorch: make matrix PAIRS="3.12:2.14"
matrix: $(VENV)/.core
	$(PIP) uv
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/matrix $(PAIRS)

# A wheel and an sdist in dist/, which install and train without this folder.
release: $(VENV)/.core
	$(PIP) build twine
	.ci/release $(BIN)/python

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Peers get virtual environments of their own, in .cache/peers.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks peers all --quick

clean:
	rm -rf $(VENV) $(LIBERO) $(ROBOTS) .cache build dist site *.egg-info
