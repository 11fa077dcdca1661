"""How many steps and gradient steps a run takes."""

import importlib
from typing import Any

import pytest

from yieldrl.algorithms import reinforce


@pytest.mark.parametrize(
    ("name", "fields", "learn_steps"),
    [
        ("a2c", {"total_steps": 1280}, 10),
        ("sac", {"total_steps": 1010}, 11),
        ("q_learning", {"total_steps": 1000}, 1000),
        ("ppo_lstm", {"total_steps": 4096}, 32),
        ("ppo_roa", {"total_steps": 8192}, 96),
        ("behavior_cloning", {"demonstration_steps": 400, "num_epochs": 5}, 20),
    ],
)
def test_a_run_ends_with_the_update_of_its_last_step(
    name: str, fields: dict[str, Any], learn_steps: int
) -> None:
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    *_, log = module.Trainer(module.Config(eval_every=0, **fields))()
    steps = fields.get("total_steps", 400)
    counts = log["log_type"], log["sample_step"], log["learn_step"]
    assert counts == ("train", steps, learn_steps)
    if name == "ppo_roa":
        assert log["logs"]["phase"] == 2


def test_reinforce_ends_with_episodes_that_are_not_learned_from() -> None:
    *_, log = reinforce.Trainer(reinforce.Config(total_steps=1000, eval_every=0))()
    counts = log["log_type"], log["sample_step"], log["learn_step"]
    assert counts == ("collect", 1000, 4)
