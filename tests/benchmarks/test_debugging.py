"""Six bugs beside PPO: how their lines are made, and when the claim holds."""

from __future__ import annotations

import pytest

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.evidence import debugging
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.exercises.ch14_debugging import diagnostics


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugging, "STEPS", 2_048)
    monkeypatch.setattr(debugging, "LOOK_EVERY", 512)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("folder", ["ppo", "broken_04"])
def test_a_run_is_stopped_saved_and_goes_on(folder: str) -> None:
    broken = folder != "ppo"
    trainer = diagnostics.trainer_of(folder) if broken else ppo.Trainer
    lines = debugging.watched(trainer, seed=1)
    assert list(lines) == list(debugging.READINGS)
    steps = [step for step, _ in lines["return"]]
    assert steps == [512, 1024, 1024, 1536, 2048]
    assert [step for step, _ in lines["entropy"]] == [512, 1024, 1536, 2048]
    assert (debugging.lost(lines["return"]) != 0) == broken


def test_a_promise_is_in_units_of_rewards() -> None:
    config = ppo.Config(total_steps=512, eval_every=0)
    with ppo.Trainer(config) as trainer:
        for _ in trainer():
            pass
        scaled = debugging.value(trainer)
        trainer.algorithm.reward_scaler.moments.var *= 4
        assert debugging.value(trainer) == pytest.approx(2 * scaled)


NAMES = ("promised too much", "approx_kl", "entropy at the end", "lost by saving")


@pytest.mark.parametrize("name", [*NAMES, "sides", "undecided"])
def test_the_claim_takes_every_bug_to_show(name: str) -> None:
    claim = CLAIMS["evidence"]["debugging-cartpole"]
    run = results.load(results.FOLDER / "debugging-cartpole.json")["runs"][0]
    measured = dict(run["numbers"])
    assert claim.holds(measured)
    (own,) = (key for key in measured if key.startswith(f"{name}, broken"))
    assert not claim.holds({**measured, own: measured[f"{name}, right"]})
    assert not claim.holds({**measured, f"{name}, right": measured[own]})
