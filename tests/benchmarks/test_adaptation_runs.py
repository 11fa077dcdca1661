"""Runs of the trials of hidden parameters, in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch

from yieldrl.algorithms import ppo, ppo_roa
from yieldrl.benchmarks import plot, results
from yieldrl.benchmarks.claims.adaptation import (
    compared,
    inference,
    learning,
    regularizer,
    speed,
)
from yieldrl.benchmarks.claims.adaptation.worlds import RANGES, WORLDS, World
from yieldrl.collectors.evaluation import evaluate

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "num_steps": 8,
    "num_epochs": 1,
    "num_minibatches": 2,
    "hidden_sizes": (8,),
    "total_steps": 96,
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
}
CARTPOLE = World("yieldrl/HiddenCartPole-v1", SMALL)
PENDULUM = World("yieldrl/HiddenPendulum-v1", SMALL)


class TestInference:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inference, "EPISODES", 40)
        monkeypatch.setattr(inference, "STEPS", 12)

    def errors_of(self, monkeypatch: pytest.MonkeyPatch, *watched: Any) -> Any:
        monkeypatch.setattr(inference, "watch", lambda *_: watched)
        agent: Any = None
        return inference.errors(agent, "", "training")

    def test_who_knows_has_none_and_who_guesses_has_1(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        torch.manual_seed(0)
        privileged = torch.rand(40, 2)
        encoded = privileged @ torch.randn(2, 3) + 1
        going = torch.ones(12, 40, dtype=torch.bool)
        inferred = encoded.expand(12, 40, 3).clone()
        inferred[0] = encoded.mean(0)
        found = self.errors_of(monkeypatch, inferred, encoded, privileged, going)
        assert found["latent"] == [1.0] + [0.0] * 11
        # The map that suits the other steps says 1 of a guess, but for who was drawn.
        assert found["parameters"][0] == pytest.approx(1.0, abs=0.3)
        assert found["parameters"][1:] == pytest.approx([0.0] * 11, abs=1e-2)

    def test_what_comes_after_the_end_does_not_count(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        privileged = torch.rand(40, 2, generator=torch.Generator().manual_seed(1))
        inferred = privileged.expand(12, 40, 2).clone()
        going = torch.ones(12, 40, dtype=torch.bool)
        inferred[6:, ::2], going[6:, ::2] = 1e6, False
        found = self.errors_of(monkeypatch, inferred, privileged, privileged, going)
        assert found["latent"] == [0.0] * 12
        assert found["parameters"] == pytest.approx([0.0] * 12, abs=1e-3)
        going[9:] = False
        found = self.errors_of(monkeypatch, inferred, privileged, privileged, going)
        assert found["latent"] == [0.0] * 9 + [1.0] * 3  # nobody is left who knows

    @pytest.mark.parametrize("env_id", [CARTPOLE.env_id, PENDULUM.env_id])
    @pytest.mark.parametrize("adaptation", ["mlp", "gru"])
    def test_what_is_watched_is_what_the_student_acts_by(
        self, env_id: str, adaptation: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In every step, across the ends of episodes, and with actions remembered."""
        options: Any = {**SMALL, "env_id": env_id, "adaptation": adaptation}
        with ppo_roa.Trainer(ppo_roa.Config(**options)) as trainer:
            student = trainer.agent.as_student()
            trainer.agent.as_student = lambda: student
            rows = inference.watch(trainer.agent, env_id, "held_out")[0]
            model, seen = student.algorithm.model, []
            infer = model.infer

            def noted(inputs: Any) -> Any:
                answer = infer(inputs)
                seen.append(answer[0])
                return answer

            monkeypatch.setattr(model, "infer", noted)
            envs = gymnasium.make_vec(env_id, num_envs=40, side="held_out")
            evaluate(student, envs, 40, inference.SEED)
        torch.testing.assert_close(rows, torch.stack(seen[:12]))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "EPISODES", 6)
    monkeypatch.setattr(inference, "EPISODES", 16)
    monkeypatch.setattr(inference, "STEPS", 55)
    monkeypatch.setitem(compared.WORLDS, "cartpole", CARTPOLE)
    monkeypatch.setitem(compared.WORLDS, "pendulum", PENDULUM)


@pytest.mark.usefixtures("few")
def test_every_side_learns_and_is_looked_at(tmp_path: Path) -> None:
    chance = learning.by_chance(CARTPOLE)
    runs = [compared.train("cartpole", side, 1) for side in learning.SIDES]
    runs.append({"side": "chance", "returns": {"chance": chance}})
    found = {who: of for run in runs for who, of in run["returns"].items()}
    assert found.keys() == compared.WORDS.keys()
    assert all(set(of) == set(RANGES) for of in found.values())
    assert min(min(of.values()) for of in found.values()) > 5
    assert 12 < chance["training"] < 40
    rows = [row for of in runs[0]["errors"].values() for row in of.values()]
    assert {len(row) for row in rows} == {55}
    assert len(compared.judge(runs)) == 5
    assert results.table(*compared.table(runs)).count("\n") == 9
    result = {"kind": "adaptation", "trial": "cartpole", "runs": runs}
    assert plot.draw(plot.draw_claim, result, tmp_path / "a.svg").exists()


@pytest.mark.usefixtures("few")
def test_ways_of_adapting_are_trained_and_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = dict.fromkeys(RANGES, 1.0)
    monkeypatch.setattr(learning, "returned", lambda *_: looked)
    runs = [regularizer.train(side, 1) for side in regularizer.SIDES]
    assert results.table(*regularizer.table(runs)).count("\n") == 5
    again = regularizer.train("mlp", 1)
    assert {**again, "seconds": 0} == {**runs[0], "seconds": 0}


@pytest.mark.usefixtures("few")
def test_a_teacher_is_at_the_end_what_it_was_after_train() -> None:
    """So one look is enough; and looking changes nothing of what is learned."""
    settings: Any = {**SMALL, "env_id": PENDULUM.env_id}
    with ppo_roa.Trainer(ppo_roa.Config(**settings)) as trainer:
        run = learning.trained_in_phases(trainer, PENDULUM)
        again = learning.returned(trainer.agent.as_teacher(), PENDULUM)
        assert run["returns"]["teacher"] == again
        weights = trainer.model.state_dict()
    with ppo_roa.Trainer(ppo_roa.Config(**settings)) as trainer:
        for _ in trainer():
            pass
        torch.testing.assert_close(trainer.model.state_dict(), weights)


@pytest.mark.parametrize("side", ["blind", "lstm"])
def test_the_blind_act_without_what_is_hidden(side: str) -> None:
    with learning.SIDES[side](env_id=CARTPOLE.env_id, **SMALL) as trainer:
        agent = trainer.agent
        assert isinstance(agent, ppo.Agent)
        assert agent.predict({"obs": torch.zeros(2, 4)}).shape == (2,)
        assert trainer.model.critic_obs == trainer.model.actor_obs == ("obs",)


def test_who_is_compared_has_one_budget() -> None:
    for world in WORLDS.values():
        for make in learning.SIDES.values():
            with make(env_id=world.env_id, **world.settings) as trainer:
                assert trainer.config.total_steps == world.settings["total_steps"]


def test_sides_of_speed_take_turns_in_the_phase_train(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = {**SMALL, "total_steps": 10**9, "anneal_learning_rate": False}
    monkeypatch.setattr(speed, "FIELDS", small)
    monkeypatch.setattr(speed, "SLICES", 2)
    run = speed.slices("yieldrl/HiddenCartPole-v1", 1)
    assert all(len(run[side]) == 2 and min(run[side]) > 0 for side in speed.SIDES)
    with speed.trainer_of("gru", "yieldrl/HiddenCartPole-v1", 1) as trainer:
        speed.one_slice(trainer, 3)
        assert trainer.agent.sample_step == 3 * 32
        assert trainer.algorithm.phase == "train"
        config = trainer.config
        assert isinstance(config, ppo_roa.Config)
        epochs = config.num_epochs + config.adaptation_epochs
        assert trainer.agent.learn_step == 3 * 2 * epochs
        assert config.regularizer_at(0) == config.regularizer_coef > 0
