"""What a claim makes of turns in LIBERO."""

import os

import pytest

from yieldrl.benchmarks.claims.time import libero
from yieldrl.benchmarks.registry import CLAIMS

WORKERS = {"benchmark": [80.0, 60.0], "one": [80.0, 50.0], "two": [144.0, 80.0]}
RUNS = [
    {"way": "states", "benchmark": [100.0, 50.0], "yieldrl": [99.0, 49.0]},
    {"way": "pictures by EGL", "benchmark": [4.0], "yieldrl": [4.0]},
]
RUNS = [{**run, "workers": WORKERS} for run in RUNS]


def test_shares_are_of_turns():
    assert libero.ratios(RUNS) == pytest.approx([0.99, 0.98, 1.0])


def test_the_median_share_and_a_second_workers_gain_are_judged():
    share, gain = CLAIMS["time"]["libero"].judge(RUNS)
    assert (share.value, gain.value) == pytest.approx((0.99, 1.7))
    assert share.holds
    assert gain.holds
    slow = {"benchmark": [10.0], "yieldrl": [9.0], "workers": {"one": [9], "two": [9]}}
    verdicts = CLAIMS["time"]["libero"].judge([slow])
    assert [verdict.holds for verdict in verdicts] == [False, False]


def test_a_process_tells_the_most_memory_that_it_had():
    assert 10 < libero.peak_megabytes(os.getpid()) < 100_000


def test_processors_are_timed_alone():
    assert libero.steps_per_second(lambda _: sum(range(10**5)), range(3)) > 0
