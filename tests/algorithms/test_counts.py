"""How many steps and gradient steps a run of each variant takes."""

import importlib
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("name", "fields", "learn_steps"),
    [
        ("appo", {"total_steps": 1024}, 32),
        ("gipo", {"total_steps": 1024}, 32),
        ("mbpo", {"total_steps": 505, "num_branches": 256}, 60),
        ("ppo_lstm", {"total_steps": 4096}, 32),
        ("ppo_masked", {"total_steps": 1024}, 16),
        ("ppo_roa", {"total_steps": 8192}, 96),
        ("sarsa", {"total_steps": 1000}, 1000),
    ],
)
def test_a_run_ends_with_the_update_of_its_last_step(
    name: str, fields: dict[str, Any], learn_steps: int
) -> None:
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    *_, log = module.Trainer(module.Config(eval_every=0, **fields))()
    counts = log["log_type"], log["sample_step"], log["learn_step"]
    assert counts == ("train", fields["total_steps"], learn_steps)
    if name == "ppo_roa":
        assert log["logs"]["phase"] == 2
