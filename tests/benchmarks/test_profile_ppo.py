"""Parts of a rollout add up to it, and each side compiles what it says."""

import time

import pytest

from yieldrl.benchmarks.claims.time import profile_ppo

SMALL = {"num_envs": 4, "num_steps": 4, "num_epochs": 1, "hidden_sizes": (16,)}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(profile_ppo, "FIELDS", profile_ppo.FIELDS | SMALL)
    monkeypatch.setattr(profile_ppo, "ROLLOUTS", 2)


def test_parts_add_up_to_what_a_rollout_takes():
    with profile_ppo.trainer_of("eager", 1) as trainer:
        watch = profile_ppo.Watch(trainer)
        begin = time.perf_counter()
        parts = watch.rollout()
        whole = 1e3 * (time.perf_counter() - begin)
        assert trainer.agent.sample_step == 16
        assert trainer.agent.learn_step == 4
    assert list(parts) == list(profile_ppo.PARTS)
    assert 0.5 * whole < sum(parts.values()) <= whole + 0.01
    assert all(value > 0 for value in parts.values())


def test_each_side_has_what_those_before_it_have(traced):
    counts = []
    for side in profile_ppo.SIDES:
        with profile_ppo.trainer_of(side, 1) as trainer:
            before, watch = len(traced), profile_ppo.Watch(trainer)
            for _ in range(2):  # a function is compiled at its second call
                watch.rollout()
            counts.append(len(traced) - before)
    # Collecting whole takes the place of acting.
    assert counts == [0, 1, 2, 3, 3]
