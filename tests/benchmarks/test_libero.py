"""What a claim makes of turns in LIBERO."""

import pytest

from yieldrl.benchmarks.claims.time import libero
from yieldrl.benchmarks.registry import CLAIMS

RUNS = [
    {"way": "states", "benchmark": [100.0, 50.0], "yieldrl": [99.0, 49.0]},
    {"way": "pictures by EGL", "benchmark": [4.0], "yieldrl": [4.0]},
]


def test_shares_are_of_turns():
    assert libero.ratios(RUNS) == pytest.approx([0.99, 0.98, 1.0])


def test_the_median_share_is_judged():
    (verdict,) = CLAIMS["time"]["libero"].judge(RUNS)
    assert verdict.value == pytest.approx(0.99)
    assert verdict.holds
    slow = [{"benchmark": [10.0], "yieldrl": [9.0]}]
    assert not CLAIMS["time"]["libero"].judge(slow)[0].holds


def test_processors_are_timed_alone():
    assert libero.steps_per_second(lambda _: sum(range(10**5)), range(3)) > 0
