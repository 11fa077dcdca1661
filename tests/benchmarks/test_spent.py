"""Parts of a rollout add up to it, and each side has the shortcuts that it says."""

import time

import pytest

from yieldrl.benchmarks import spent

SMALL = {"num_envs": 4, "num_steps": 4, "num_epochs": 1, "hidden_sizes": (16,)}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(spent, "SETTINGS", spent.SETTINGS | SMALL)
    monkeypatch.setattr(spent, "ROLLOUTS", 2)


def test_parts_add_up_to_what_a_rollout_takes():
    with spent.trainer_of("eager", 1) as trainer:
        watch = spent.Watch(trainer)
        begin = time.perf_counter()
        parts = watch.rollout()
        whole = 1e3 * (time.perf_counter() - begin)
        assert trainer.agent.sample_step == 16
        assert trainer.agent.learn_step == 4
    assert list(parts) == list(spent.PARTS)
    assert 0.5 * whole < sum(parts.values()) <= whole + 0.01
    assert all(value > 0 for value in parts.values())


def test_each_side_has_what_those_before_it_have(traced):
    graphs = {}
    for side in spent.SIDES:
        with spent.trainer_of(side, 1) as trainer, spent.shortcuts_of(side):
            before = len(traced)
            spent.Watch(trainer).rollout()
            graphs[side] = traced[before:]
    counts = [len(found) for found in graphs.values()]
    assert counts == [0, 1, 1, 2, 3, 3]
    clones = [
        sum("clone" in str(node.target) for node in found[-1].operations.graph.nodes)
        for found in (graphs["steps"], graphs["turned"])
    ]
    assert clones[1] == clones[0] + 2  # the first layers of actor and critic
