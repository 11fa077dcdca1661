"""Trials of hidden parameters: judged, drawn, and tried small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from yieldrl.algorithms import ppo, ppo_roa
from yieldrl.benchmarks import __main__ as command_line
from yieldrl.benchmarks import plot, results, style
from yieldrl.benchmarks.adaptation import (
    TRIALS,
    compared,
    inference,
    learning,
    regularizer,
    scores,
    speed,
)
from yieldrl.benchmarks.adaptation.worlds import RANGES, WORLDS, World
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

GOOD = {
    "oracle": 480.0,
    "teacher": 480.0,
    "student, train": 300.0,
    "student, adapt": 450.0,
    "student, finetune": 470.0,
    "lstm": 400.0,
    "blind": 60.0,
    "chance": 20.0,
}


def known(first: float, late: float) -> dict[str, Any]:
    row = [first] * compared.LATE + [late] * (inference.STEPS - compared.LATE)
    return {side: {"latent": row, "parameters": row} for side in RANGES}


def ended(late: float = 0.3, **returns: float) -> list[dict[str, Any]]:
    """Runs of a world, of two seeds; `returns` are those that are not good."""
    runs: list[dict[str, Any]] = []
    for side in (*learning.SIDES, "chance"):
        whose = [who for who in GOOD if who == side]
        if side == "roa":
            whose = [who for who in GOOD if who == "teacher" or "student" in who]
        found = {who: returns.get(who[:7], GOOD[who]) for who in whose}
        both = {who: dict.fromkeys(RANGES, value) for who, value in found.items()}
        run = {"side": side, "seconds": 9.0, "returns": both}
        run |= {"errors": known(1.0, late)} if side == "roa" else {}
        runs += [run, run]
    return runs


def ways(free: float, late: float) -> list[dict[str, Any]]:
    (run, *_) = ended()
    return [
        {**run, "side": side, "errors": known(1.0, free if "free" in side else late)}
        for side in regularizer.SIDES
        for _ in range(3)
    ]


def timed(mlp: float) -> list[dict[str, Any]]:
    of = {"ppo": [90.0, 100.0, 110.0], "gru": [60.0] * 3}
    of["mlp"] = [x / mlp for x in of["ppo"]]
    return [{"env_id": env_id, "seed": 1, **of} for env_id in speed.WORLDS]


RUNS = {
    **{name: ended() for name in WORLDS},
    "regularizer": ways(0.5, 0.3),
    "speed": timed(1.9),
}


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_is_a_table_and_a_figure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, runs = TRIALS[name], RUNS[name]
    assert all(verdict.holds for verdict in trial.judge(runs))
    assert results.table(*trial.table(runs)).count("\n") >= 5
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    result = {"kind": "adaptation", "trial": name, "runs": runs}
    svg = plot.draw_trial(result, tmp_path / f"{name}.svg").read_text()
    assert len(re.findall(r"<text[^>]*>([^<]*)</text>", svg)) > 8
    results.dumps({"settings": trial.settings})


def test_the_command_knows_the_family() -> None:
    parsed = command_line.parse(["adaptation", "all", "--seeds", "2"])
    assert (parsed.names, parsed.seeds) == (list(TRIALS), 2)


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        ({"teacher": 60.0, "student": 60.0}, [0, 3]),
        ({"oracle": 60.0}, [1]),
        ({"blind": 470.0}, [3]),
        ({"student": 456.0}, [2]),
        ({"late": 0.95}, [4]),
    ],
)
def test_what_is_demanded_of_a_world_can_fail(
    wrong: dict[str, float], broken: list[int]
) -> None:
    held = [verdict.holds for verdict in compared.judge(ended(**wrong))]
    assert [i for i, holds in enumerate(held) if not holds] == broken


def test_a_student_is_close_if_it_goes_nearly_as_far_from_chance() -> None:
    """Returns below zero have no percentages of their own."""
    assert compared.share(ended(), "training") == pytest.approx(450 / 460)
    costs = ended(chance=-1200.0, teacher=-200.0, student=-240.0)
    assert compared.share(costs, "training") == pytest.approx(0.96)


def test_the_other_demands_can_fail() -> None:
    held = [verdict.holds for verdict in regularizer.judge(ways(0.3, 0.95))]
    assert held == [False, False, False, False]
    held = [verdict.holds for verdict in speed.judge(timed(2.1))]
    assert held == [False, True, False, True]
    assert speed.ratio(timed(2.1), next(iter(speed.WORLDS)), "mlp") == (
        pytest.approx(2.1)
    )


def test_an_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert scores.iqm(np.array([100.0, 1, 2, 3, 4])) == 3
    assert scores.iqm(np.arange(8.0)) == 3.5
    assert scores.iqm(np.array([1.0, 2, 6])) == 3
    rows = np.array([[1.0, 1, 1, 1, 1], [0, 0, 0, 0, 10]])
    low, high = scores.interval(rows)
    assert (low[0], high[0], low[1]) == (1, 1, 0)
    assert 0 < high[1] < 10
    assert [float(end) for end in scores.interval(np.array([3.0, 1]))] == [1, 3]
    assert scores.text([2.0, 2.0, 2.0]) == "2 (2 to 2)"


def test_a_curve_has_an_interval_at_each_step() -> None:
    drawn = scores.curve("some", [[3.0, 1], [4, 1], [5, 1]])
    assert (drawn.steps.tolist(), drawn.mean.tolist()) == ([1, 2], [4, 1])
    assert (drawn.low[1], drawn.high[1], drawn.label) == (1, 1, "some, 3 runs")


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
    monkeypatch.setattr(inference, "STEPS", 5)
    for trial in (compared, regularizer):
        monkeypatch.setattr(trial, "LATE", 2)
    monkeypatch.setitem(compared.WORLDS, "cartpole", CARTPOLE)
    monkeypatch.setitem(compared.WORLDS, "pendulum", PENDULUM)


@pytest.mark.usefixtures("few")
def test_every_side_learns_and_is_looked_at(tmp_path: Path) -> None:
    chance = learning.by_chance(CARTPOLE)
    runs = [compared.train("cartpole", side, 1) for side in learning.SIDES]
    runs.append({"side": "chance", "returns": {"chance": chance}})
    found = {who: of for run in runs for who, of in run["returns"].items()}
    assert found.keys() == compared.WHO.keys()
    assert all(set(of) == set(RANGES) for of in found.values())
    assert min(min(of.values()) for of in found.values()) > 5
    assert 12 < chance["training"] < 40
    rows = [row for of in runs[0]["errors"].values() for row in of.values()]
    assert {len(row) for row in rows} == {5}
    assert len(compared.judge(runs)) == 5
    assert results.table(*compared.table(runs)).count("\n") == 9
    result = {"kind": "adaptation", "trial": "cartpole", "runs": runs}
    assert plot.draw_trial(result, tmp_path / "a.svg").exists()


@pytest.mark.usefixtures("few")
def test_ways_of_adapting_are_trained_and_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = dict.fromkeys(RANGES, 1.0)
    monkeypatch.setattr(learning, "returned", lambda *_: looked)
    runs = [regularizer.train(side, 1) for side in regularizer.SIDES]
    assert results.table(*regularizer.TRIAL.table(runs)).count("\n") == 5
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
    monkeypatch.setattr(speed, "SETTINGS", small)
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
