"""Fixtures that every room's tests may use, and what holds for a run of them all."""

import gc
import os
import random
import signal
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from hypothesis import HealthCheck, settings

from yieldrl.core import Config, compiled

pytest_plugins = ["pytester"]

CACHE = Path(__file__).parents[1] / ".cache"
WORKER_MEMORY = 3 * 2**30  # bytes: a worker that has compiled many worlds holds two


# Tests of the built site, which `make browser` names; and those of test_simulated.py.
collect_ignore = [] if "YIELDRL_SITE" in os.environ else ["browser"]
collect_ignore += [] if "simulated.device" in sys.modules else ["simulated"]

# How long an example takes depends on what else the machine does.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_configure(config):
    """Workers share what they compile, and take one core each."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(CACHE / "inductor"))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"  # of the programs that tests start
    torch.set_num_threads(1)  # with which results are the same everywhere


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays; the garbage collector need not look."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20)  # graphs of compiled functions are large and stay
    gc.enable()
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """What `-n auto` means: one for each core, as far as memory reaches."""
    is_linux = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if is_linux else os.cpu_count()
    return max(1, min(cores, psutil.virtual_memory().available // WORKER_MEMORY))


@pytest.fixture(autouse=True, scope="session")
def interruptible():
    """A shell starts a job in the background deaf to Ctrl-C, which tests press."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def seeded():
    """What a test draws does not depend on the tests that its worker ran before."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def traced(monkeypatch):
    """Functions are traced and guarded as ever, but run as graphs, without new code.

    What a compiled function can do wrong shows there, in a tenth of the time. Returns
    the graphs.
    """
    graphs = []

    def generated(graph, inputs, **options):
        graphs.append(graph)
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

    monkeypatch.setattr(compiled, "lookup_backend", lambda name: generated)
    return graphs


@pytest.fixture
def config():
    """The fields that every algorithm shares, at their defaults."""
    return Config()
