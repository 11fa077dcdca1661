"""DAPO: rollouts are collected until enough groups differ, by one policy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from factories import plain, train_logs, trainer_of

from yieldrl.algorithms import dapo

POLES = {"env_id": "yieldrl/CartPole-v1", "env_kwargs": {"max_episode_steps": 14}}
POLES |= {"num_envs": 8, "num_steps": 14, "total_steps": 14 * 8 * 20}


def trained(**options: Any) -> tuple[Any, list[Any]]:
    trainer = trainer_of(dapo, **POLES | options)
    return trainer, train_logs(trainer)


def begun(logs: list[Any]) -> list[Any]:
    """The first log of each rollout: how far learning is, and what share differs."""
    name = "grpo/informative_groups"
    return [
        (log["learn_step"], float(log["logs"][name]), "loss" in log["logs"])
        for log in logs
        if name in log["logs"]
    ]


def test_it_learns_when_enough_episodes_are_of_groups_that_differ() -> None:
    """Eight of eight environments, of which two make a group."""
    rollouts, kept, learned = begun(trained()[1]), 0, 0
    assert len(rollouts) == 20
    for i, (_, share, learns) in enumerate(rollouts):
        kept += 1  # rollouts, of all of which that is the share
        found = 8 * share * kept
        assert learns == (found >= 8 or (i == 19 and found > 0))
        learned += learns
        kept = 0 if learns else kept
    assert 1 < learned < 12


def test_all_that_was_kept_is_learned_from_by_the_policy_that_acted() -> None:
    trainer = trainer_of(dapo, **POLES)
    before, sizes = trainer.model.actor.layers[0].weight.detach().clone(), []
    for log in trainer():
        if log["log_type"] == "train":
            sizes.append(len(trainer.kept))
            if "loss" in log["logs"]:
                break
            assert torch.equal(trainer.model.actor.layers[0].weight, before)
    assert len(sizes) > 1
    assert sizes[-1] == 0
    assert sizes == [*range(1, len(sizes)), 0]
    assert len(trainer.buffer.passes.pieces) >= 8
    assert log["logs"]["approx_kl"] < 1e-9, "none has moved"
    assert log["logs"]["sampling_gap"] < 1e-5


@pytest.mark.parametrize(
    ("options", "waits"),
    [({"max_rollouts": 1}, 1), ({"max_rollouts": 3, "batch_episodes": 1000}, 3)],
)
def test_how_long_it_waits_is_bounded(options: Any, waits: int) -> None:
    rollouts = begun(trained(**options)[1])
    for i, (_, _, learns) in enumerate(rollouts[:18]):
        assert not learns or (i + 1) % waits == 0
    assert any(learns for *_, learns in rollouts)


def test_a_saved_run_has_what_it_kept(tmp_path: Any) -> None:
    expected = [plain(log) for log in trainer_of(dapo, **POLES)()]
    trainer, found = trainer_of(dapo, **POLES), []
    for log in trainer():
        found.append(plain(log))
        if trainer.kept:
            break
    trainer.save(tmp_path / "run.pt")
    found += [plain(log) for log in dapo.Trainer.load(tmp_path / "run.pt")()]
    assert found == expected
