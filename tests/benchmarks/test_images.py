"""Products of a step are found, and each side of a rollout is told apart."""

from unittest.mock import create_autospec

import pytest
import torch
from torch import nn

from yieldrl.benchmarks import subprocesses
from yieldrl.benchmarks.claim import Options
from yieldrl.benchmarks.claims.time import images
from yieldrl.benchmarks.registry import CLAIMS

SMALL = {"num_envs": 4, "num_steps": 2, "num_epochs": 1, "num_minibatches": 2}


def test_products_are_convolutions_and_matrix_products_with_their_gradients():
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4), nn.Tanh()
    )

    class Owner:
        def step(self, x):
            net(x).square().mean().backward()

    owner, x = Owner(), torch.randn(5, 1, 4, 4)
    calls = images.products_of(owner, "step")
    assert calls == []
    owner.step(x)
    wanted = [tuple(p.grad.shape) for p in net.parameters()]
    owner.step(x)  # of which nothing is kept
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()  # what is kept are copies
        found = [call() for call in calls]
    forward, layer, inputs, weights, backward = found
    assert forward.shape == (5, 2, 2, 2)
    assert layer.shape == (5, 4)
    assert inputs.shape == (5, 8)
    assert tuple(weights.shape) in {wanted[2], wanted[2][::-1]}
    assert [tuple(g.shape) for g in backward if g is not None] == wanted[:2]
    assert all(x.any() for x in (forward, layer, inputs, weights))


@pytest.mark.usefixtures("traced")
def test_all_sides_take_the_same_rollouts(monkeypatch):
    monkeypatch.setattr(images, "SETTINGS", images.SETTINGS | SMALL)
    monkeypatch.setattr(images, "ROLLOUTS", 2)
    run = images.take_turns("bfloat16", 1, seed=3)
    assert (run["seed"], run["precision"], run["num_threads"]) == (3, "bfloat16", 1)
    for side in images.SIDES:
        assert list(run[side]) == list(images.PARTS)
        assert run[side]["collecting"] > 0
        assert run[side]["steps"] > 0
    assert run["eager"]["rest"] > 0
    assert run["products"]["rest"] == 0


def test_each_case_is_measured_in_a_process_of_its_own(monkeypatch):
    call = create_autospec(subprocesses.call, return_value={})
    monkeypatch.setattr(subprocesses, "call", call)
    assert len(CLAIMS["time"]["images"].measure(Options(seeds=2))) == 2 * len(
        images.CASES
    )
    first = call.call_args_list[0]
    assert first.args == (images.take_turns, 1)
    assert first.kwargs == {"seed": 1, **images.CASES[0]}
    threads = [made.kwargs["num_threads"] for made in call.call_args_list]
    assert set(threads) == {1, 2}


def test_a_table_has_each_case_and_side():
    parts = {"collecting": 1.0, "steps": 2.0, "rest": 0.5}
    runs = [
        {**case, "seed": 1, **dict.fromkeys(images.SIDES, parts)}
        for case in images.CASES
    ]
    header, rows = images.table(runs)
    assert len(header) == len(rows[0])
    assert rows[0] == ["float32, 1", "eager", "1.0", "2.0", "0.5", "3.5"]
    assert len(rows) == len(images.CASES) * len(images.SIDES)
