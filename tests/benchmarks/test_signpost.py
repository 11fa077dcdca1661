"""What an LSTM holds of the signpost: what is walked past, changed and kept of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from yieldrl.algorithms import ppo_lstm
from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.evidence import signpost
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.envs import make


@pytest.fixture(scope="module")
def latch():
    """A model whose first cell keeps the signpost and whose actor turns by it."""
    config = ppo_lstm.Config(env_id="yieldrl/TMaze-v1", lstm_size=1, hidden_sizes=(1,))
    envs = make(config.env_id, config)
    spaces = envs.single_observation_space, envs.single_action_space
    model = ppo_lstm.Model(*spaces, config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.lstm.bias[:3] = 20.0  # all gates are open
        model.lstm.input_weight[3] = torch.tensor([-3.0, 0.0, 3.0])
        modules = model.actor.modules()
        layers: list[Any] = [part for part in modules if hasattr(part, "weight")]
        layers[0].weight[:] = 10.0
        layers[-1].weight[0], layers[-1].weight[2] = 10.0, -10.0  # north, south
    return model


def test_the_two_walks_differ_in_the_signpost_alone():
    seen = signpost.corridor(4)
    assert seen.tolist() == [[[0, 1, 1], [1, 1, 0]], *[[[1, 0, 1]] * 2] * 4]


def test_an_exchanged_memory_turns_the_other_way_and_an_empty_one_anywhere(latch):
    assert signpost.turns(latch) == {
        "right turns": pytest.approx(1, abs=1e-3),
        "right turns, exchanged": pytest.approx(0, abs=1e-3),
        "right turns, emptied": pytest.approx(0.5, abs=1e-3),
        "right turns, 100 steps": pytest.approx(1, abs=1e-3),
    }


def test_a_memory_is_changed_half_way(latch):
    before = signpost.walk(latch, signpost.corridor(9))
    after = signpost.walk(latch, signpost.corridor(9), torch.zeros_like)
    same = [torch.equal(*pair) for pair in zip(before, after, strict=True)]
    assert same == [True] * signpost.AT + [False] * (10 - signpost.AT)


def test_a_short_run_measures_all_that_the_claim_needs(monkeypatch):
    monkeypatch.setattr(signpost, "STEPS", 2_048)
    monkeypatch.setattr(signpost, "EPISODES", 2)
    monkeypatch.setattr(signpost, "LONGEST", 12)
    measured = signpost.in_t_maze(1)
    assert not CLAIMS["evidence"]["ppo_lstm-signpost"].holds(measured)
    for way in signpost.WAYS:
        for name in ("trained", "untrained"):
            steps = [step for step, _ in measured[f"{way}, {name}"]]
            assert steps == list(range(1, 13))
    details = measured["details"]
    assert len(details["cells"]) == signpost.CELLS
    for name in ("untrained", "trained", "emptied"):
        cells = torch.tensor(details[name]["cells"])
        assert list(cells.shape) == [signpost.LENGTH, 2, signpost.CELLS]
        assert list(torch.tensor(details[name]["north"]).shape) == [signpost.LENGTH, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [("right turns", 0.9), ("right turns, exchanged", 0.1)],
)
def test_the_claim_takes_all_of_it(name, value):
    claim = CLAIMS["evidence"]["ppo_lstm-signpost"]
    run = results.load(results.FOLDER / "ppo_lstm-signpost.json")["runs"][0]
    assert claim.holds(run["numbers"])
    assert not claim.holds({**run["numbers"], name: value})
