"""The simulation of a cluster: cases that can be computed by hand."""

import numpy as np
import pytest

from yieldrl.benchmarks.claims.cluster import kills
from yieldrl.benchmarks.claims.cluster.services import ROWS
from yieldrl.benchmarks.claims.cluster.simulation import DEADLINE, Cluster

NOTHING = ("call", "join", "per_worker", "batch", "observation", "put", "megabyte")
STEP = 0.01


def simulated(times=None, **fields):
    parts = {"workers": 4, "step": STEP, "same": True, "rng": np.random.default_rng(1)}
    free = dict.fromkeys(NOTHING, 0.0)
    return Cluster(**parts | fields, times={**free, **(times or {})}).run()


@pytest.mark.parametrize("learn", [0.08, 0.64])
def test_without_lag_workers_and_the_learner_take_turns(learn):
    found = simulated(lag=0, learn=learn)
    assert found["rate"] == pytest.approx(4 * ROWS / (ROWS * STEP + learn))
    assert found["lag"] == 0


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("learn", [0.08, 0.64])
def test_with_lag_the_longer_side_decides(learn, lag):
    found = simulated(lag=lag, learn=learn)
    assert found["rate"] == pytest.approx(4 * ROWS / max(ROWS * STEP, learn))
    assert found["lag"] == pytest.approx(lag, abs=0.3)


def test_weights_are_waited_for():
    found = simulated({"megabyte": 0.01, "put": 0.001}, lag=0, learn=0.0, mb=8.0)
    assert found["rate"] == pytest.approx(4 * ROWS / (ROWS * STEP + 0.08))


def test_equal_workers_are_served_in_one_batch():
    found = simulated({"batch": 0.003}, lag=0, learn=0.0, actors=1)
    steps = (DEADLINE + 0.003 + STEP) * ROWS
    assert found["rate"] == pytest.approx(4 * ROWS / steps, rel=0.2)  # steps differ
    assert 1 <= found["batch"] <= 4
    assert found["latency"] >= 3


def test_the_slowest_of_many_workers_is_waited_for():
    alike = simulated(lag=1, learn=0.0, workers=64)
    differing = simulated(lag=1, learn=0.0, workers=64, same=False)
    assert differing["share"] < 0.95 * alike["share"]


def test_an_environment_counts_its_steps_over_all_episodes():
    env = kills.Numbered()
    first, _ = env.reset()
    number, step = env.step(0)[0]
    again, _ = env.reset()
    assert (first[0], first[1], step) == (number, 0, 1)
    assert again.tolist() == [number, 1]
