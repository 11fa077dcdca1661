# make train | make test: each sets up what it needs on a fresh machine first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TYPES  := .cache/types/yieldrl
# One version of each package, so that a newer one is a change that somebody made.
PIP    := $(BIN)/python -m pip install --quiet -c constraints.txt

.PHONY: setup train test test-fast libero robots lint format docs browser bench clean
.DEFAULT_GOAL := setup

# Two stamps, so that training needs neither pytest nor mkdocs.
$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "yieldrl needs Python 3.11 or newer; name one with make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) -e '.[dev,docs]'
	mkdir -p $(dir $(TYPES)) && ln -sfn ../.. $(TYPES)
	touch $@

setup: $(VENV)/.dev

train: $(VENV)/.core
	$(BIN)/yieldrl train ppo

# A process for each core; one that is done takes over tests of another.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# The room of Ray waits much, and so it runs beside the others and speaks after them; in
# a process of its own, as one that has Ray must not fork.
RAY_SAID := .cache/tests_of_ray.txt
define TESTS
@mkdir -p .cache; \
$(BIN)/python -m pytest -n 1 tests/distributed $(1) >$(RAY_SAID) 2>&1 & ray=$$!; \
trap 'kill $$ray' INT TERM; \
$(PYTEST) --ignore tests/distributed $(1); main=$$?; \
wait $$ray; ray=$$?; cat $(RAY_SAID); exit $$((main | ray))
endef

test: $(VENV)/.dev
	$(call TESTS)

test-fast: $(VENV)/.dev
	$(call TESTS,-m 'not slow')

# LIBERO needs mujoco < 4, and so an environment of its own.
LIBERO := .venv-libero
PIP_LIBERO := $(LIBERO)/bin/python -m pip install --quiet -c constraints-libero.txt
# What paints without a screen, of Debian and Ubuntu.
PAINTS := libegl1 libgl1-mesa-dri libgles2 libopengl0 libglx-mesa0 libgl1 libosmesa6

$(LIBERO)/.dev: pyproject.toml constraints-libero.txt
	test -x $(LIBERO)/bin/python || $(PYTHON) -m venv $(LIBERO)
	$(PIP_LIBERO) -e '.[libero,vla]' hypothesis pytest pytest-xdist
	touch $@

libero: $(LIBERO)/.dev
	@.ci/install $(PAINTS)
	$(LIBERO)/bin/python -m pytest -n auto --dist loadfile tests/envs/libero

# Meta-World pins an old mujoco, and so robots of others have an environment of their own.
ROBOTS := .venv-robots
PIP_ROBOTS := $(ROBOTS)/bin/python -m pip install --quiet -c constraints-robots.txt

$(ROBOTS)/.dev: pyproject.toml constraints-robots.txt
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

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Peers get virtual environments of their own, in .cache/peers.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks peers --quick

clean:
	rm -rf $(VENV) $(LIBERO) $(ROBOTS) .cache build dist site *.egg-info
