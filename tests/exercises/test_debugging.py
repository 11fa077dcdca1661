"""Chapter 14's versions of PPO: each has one bug, which its experiment shows."""

from __future__ import annotations

import pytest

from yieldrl.algorithms import ppo
from yieldrl.exercises.ch14_debugging import diagnostics, solution
from yieldrl.exercises.ch14_debugging.diagnostics import (
    BUGS,
    FOLDERS,
    SEEN,
    Readings,
)

SPOILED = {
    "none": set(),
    "end": {"value"},
    "ratio": {"approx_kl"},
    "gradient": {"preferred", "actor", "approx_kl"},
    "statistics": {"restored"},
    "credit": {"sides", "preferred"},
    "entropy": {"entropy"},
}
"""Bug -> the readings that are not what they should be."""


def spoiled(seen: Readings) -> set[str]:
    healthy = {
        "value": abs(seen.value - 1) < 0.1,
        "sides": abs(seen.sides - 2) < 0.25,
        "preferred": seen.preferred > 0.9,
        "entropy": seen.entropy > 0.9,
        "actor": seen.actor > 0.01,
        "approx_kl": seen.approx_kl > 0.001,
        "restored": seen.restored < 1e-5,
    }
    return {name for name, holds in healthy.items() if not holds}


@pytest.mark.parametrize(
    ("bug", "name"), list(zip(SPOILED, ("ppo", *FOLDERS), strict=True))
)
def test_each_fails_its_own_experiment_and_is_named(bug, name):
    trainer = ppo.Trainer if name == "ppo" else diagnostics.trainer_of(name)
    seen = diagnostics.examine(trainer)
    assert spoiled(seen) == SPOILED[bug]
    assert solution.diagnose(seen) == bug
    assert seen == pytest.approx(SEEN[bug][0], rel=0.2, abs=0.1)
    assert spoiled(SEEN[bug][0]) == SPOILED[bug]
    assert trainer(diagnostics.settings()).run.name == name


def test_all_bugs_are_there():
    assert list(SPOILED) == list(BUGS) == list(SEEN)
