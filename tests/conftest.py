"""Fixtures that every room's tests may use, and what holds for a run of them all."""

import math
import os
import signal
from pathlib import Path

import psutil
import pytest
import torch
from budget import Budget
from hypothesis import settings

from yieldrl.foundations import Config

pytest_plugins = ["pytester"]

CACHE = Path(__file__).parents[1] / ".cache"
WORKER_MEMORY = 3 * 2**30  # bytes: a worker that has compiled many worlds holds two


# How long an example takes depends on what else the machine does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure(config):
    """Workers share what they compile, take one core each and add up their time."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHE / "inductor"))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"  # of the programs that tests start
    # No test takes what another one compiled, unless it asks for it.
    os.environ["YIELDRL_CACHE"] = str(CACHE / "nothing compiled")
    config.pluginmanager.register(Budget.of_run(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """What `-n auto` means: one for each core, as far as memory reaches."""
    is_linux = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if is_linux else os.cpu_count()
    return max(1, min(cores, psutil.virtual_memory().available // WORKER_MEMORY))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Narrow networks are fastest, and results the same everywhere, on one thread."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """A shell starts a job in the background deaf to Ctrl-C, which tests press."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Followed:
    """Stands for a compilation: runs the graph, and generates no code for it."""

    kept, failure = True, None

    def __init__(self, graph):
        self.graph = graph

    def wait(self):
        return lambda tensors: self.graph.operations(*tensors, *self.graph.captured)


@pytest.fixture(autouse=True)
def compiles_nothing_on_the_way(monkeypatch):
    """However long a run means to be, no compiler works beside the tests."""
    for name in ("COMPILED_SECONDS", "CROWDED_SECONDS"):
        monkeypatch.setattr(f"yieldrl.speed.plan.{name}", math.inf)


@pytest.fixture
def kept(monkeypatch):
    """Compiled code is kept from one run of the tests to the next."""
    monkeypatch.setenv("YIELDRL_CACHE", str(CACHE / "compiled"))


@pytest.fixture
def traced(monkeypatch):
    """What is compiled is written down as a graph, and run as it is, uncompiled.

    All that a loss can do wrong when compiled shows there, in a hundredth of the time.
    That generated code computes the same is seen once, in tests/speed and in test_ppo.
    Returns the graphs.
    """
    graphs = []

    def compilation(graph):
        graphs.append(graph)
        return Followed(graph)

    monkeypatch.setattr("yieldrl.speed.plan.Compilation", compilation)
    return graphs


@pytest.fixture
def config():
    """The fields that every algorithm shares, at their defaults."""
    return Config()
