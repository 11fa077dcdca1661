"""GRPO beside a model of the world: groups that are imagined from one real state."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from factories import plain, resumed
from imagining import TINY, imagined, until_learning
from tensordict import TensorDict

from yieldrl.algorithms import grpo_imagined
from yieldrl.vla.latents import PROMPT

MORE = {"group_size": 4, "num_branches": 16, "num_steps": 3, "gamma": 0.5}


def trainer(**options: Any) -> grpo_imagined.Trainer:
    return grpo_imagined.Trainer(grpo_imagined.Config(**{**TINY, **MORE, **options}))


def segment(own: Any) -> TensorDict:
    """Three steps of two groups of four: one wins at steps 1 and 2, the other never."""
    found = imagined(own, 2)
    reward = torch.zeros(3, 8)
    reward[0, 0] = reward[1, 1] = 1
    ended = reward.cumsum(0) > 0
    valid = torch.cat([torch.ones(1, 8, dtype=torch.bool), ~ended[:-1]])
    found["reward"], found["valid"] = reward, valid
    found["terminated"] = ended & valid
    found["truncated"] = torch.zeros(3, 8, dtype=torch.bool)
    found["truncated"][-1] = valid[-1] & ~ended[-1]
    return found


def test_advantages_by_hand() -> None:
    """Returns 1, 1/2, 0, 0: less their mean 3/8, by their standard deviation; a group
    that never wins is left out, and so is what comes after an end."""
    run = trainer()
    until_learning(run)
    own: Any = run.algorithm
    rows = own.worth(segment(own))
    returns = torch.tensor([1, 0.5, 0, 0])
    expected = (returns - 0.375) / returns.std(correction=0)
    torch.testing.assert_close(rows["advantage"][:, 0], expected, atol=1e-4, rtol=1e-4)
    assert rows.batch_size == (4, 3)
    assert rows["used"].sum(1).tolist() == [1, 2, 3, 3]


def test_a_group_begins_in_one_real_state_and_is_whole() -> None:
    with pytest.raises(ValueError, match="num_branches = 18"):
        trainer(num_branches=18)
    run = trainer(num_envs=32)
    until_learning(run)
    own: Any = run.algorithm
    starts = own.states(own.starts())[PROMPT].unflatten(0, (4, 4))
    assert (starts == starts[:, :1]).all()
    assert len(starts[:, 0].flatten(1).unique(dim=0)) > 1


def test_imagined_branches_lie_beside_real_episodes() -> None:
    """Four of one group, and with a share of a half as many real episodes."""
    run = trainer(kl_coef=0.1, num_envs=32)
    rows = until_learning(run)
    real = rows[rows["model_version"][:, 0] < 0]
    own: Any = run.algorithm
    rows = own.beside(real, [own.worth(segment(own))])
    dreamt = rows["model_version"][:, 0] >= 0
    assert dreamt.tolist() == [False] * 4 + [True] * 4
    assert (rows["advantage"][rows["used"]] != 0).all()
    assert torch.equal(rows["valid"], rows["used"])
    assert "reference" in set(rows.keys())


def test_it_resumes_to_the_bit(tmp_path: Any) -> None:
    options = {"num_envs": 16, "total_steps": 96}
    whole = list(map(plain, trainer(**options)()))
    stop = 3 + next(i for i, x in enumerate(whole) if x["log_type"] == "train")
    assert resumed(trainer(**options), stop, tmp_path) == whole


def test_chunks_are_imagined_as_they_are_executed() -> None:
    """Two actions a token, of which both are executed; a step is discounted twice."""
    options = {"chunk_length": 2, "outcome": "number", "num_steps": 2}
    run = trainer(num_envs=32, **options)
    until_learning(run)
    own: Any = run.algorithm
    found = imagined(own)
    assert found["action"].shape == (3, 16, 2)
    assert (found["discount"] == 0.25).all()
    assert own.executed == 2
