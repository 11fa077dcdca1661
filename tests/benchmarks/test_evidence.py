"""Claims: how they are judged, and the measurements as far as they are exact."""

from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from yieldrl.benchmarks import report, results, subprocesses
from yieldrl.benchmarks.claim import Claim
from yieldrl.benchmarks.claims.evidence import overestimation, stability
from yieldrl.benchmarks.evidence import compare
from yieldrl.benchmarks.registry import CLAIMS


@pytest.fixture
def claim(monkeypatch: pytest.MonkeyPatch) -> Claim:
    """Holds on the seeds 2 and 3 of three."""

    def train(seed: int) -> dict[str, Any]:
        return {"size": float(seed), "growth": [[0, 0.0], [1, seed]]}

    claim = Claim(
        statement="Large seeds are large.",
        module=SimpleNamespace(train=train),
        criterion="size is at least 2",
        bounds=["size >= 2"],
        share=2 / 3,
    )
    monkeypatch.setitem(CLAIMS["evidence"], "test", claim)
    monkeypatch.setattr(
        subprocesses, "call", lambda function, _, **arguments: function(**arguments)
    )
    return claim


def test_a_claim_is_measured_and_judged(
    claim: Claim, capsys: pytest.CaptureFixture[str]
) -> None:
    result = report.benchmark(
        "evidence", "test", "python -m benchmarks", seeds=3, jobs=1
    )
    assert (result["passed"], result["holds"]) == (2, True)
    assert result["criterion"] == "size is at least 2; on at least 2 of 3 seeds"
    assert [run["holds"] for run in result["runs"]] == [False, True, True]
    assert result["runs"][0]["numbers"] == {"size": 1.0}
    assert result["runs"][2]["series"] == {"growth": [[0, 0.0], [1, 3]]}
    results.check(result)
    text = report.report(result)
    assert "| mean | 2" in text
    assert "on at least 2 of 3 seeds: 2, holds" in text
    assert "seed 1: does not hold\nseed 2: holds" in capsys.readouterr().out


def test_a_claim_can_turn_out_false(claim: Claim) -> None:
    result = report.benchmark(
        "evidence", "test", "python -m benchmarks", seeds=1, jobs=1
    )
    assert not result["holds"]
    assert "DOES NOT HOLD" in report.report(result)


def test_double_dqn_has_to_be_better() -> None:
    def holds(name: str, dqn: float, double_dqn: float) -> bool:
        measured = {"bias of dqn": dqn, "bias of double_dqn": double_dqn}
        return CLAIMS["evidence"][name].holds(measured)

    assert holds("double_dqn-chance", 4.0, 2.0)
    assert not holds("double_dqn-chance", 4.0, 2.1)
    assert holds("double_dqn-pendulum", 1.0, 0.9)
    assert holds("double_dqn-pendulum", 1.0, -3.0)
    assert not holds("double_dqn-pendulum", 1.0, 1.1)
    assert not holds("double_dqn-pendulum", -1.0, -2.0)  # nothing is overestimated


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("0 < a, b", True),
        ("2 * a, b <= 4 < c", True),
        ("2 * a, b < 4", False),
        ("c > a, b > 3", False),
        ("a, b == 2", True),
    ],
)
def test_comparisons_are_chains_of_numbers_and_names(text: str, holds: bool) -> None:
    assert compare(text, {"a, b": 2.0, "c": 5}) is holds
    with pytest.raises(ValueError, match="nobody"):
        compare("a, b < nobody", {"a, b": 2.0})


def test_discounted_returns() -> None:
    rewards = np.array([[1.0, 0.0], [2.0, 4.0], [4.0, 8.0]])
    wanted = [[1 + 0.5 * 4, 0.5 * 8], [2 + 0.5 * 4, 4 + 0.5 * 8], [4, 8]]
    assert overestimation.discounted(rewards, 0.5).tolist() == wanted


def test_the_game_of_chance_is_fair() -> None:
    game = overestimation.Chance()
    obs, _ = game.reset(seed=0)
    assert game.observation_space.contains(obs)
    rewards = []
    for _ in range(100):
        terminated = False
        while not terminated:
            obs, reward, terminated, truncated, _ = game.step(0)
            assert not truncated
            rewards.append(reward)
        game.reset()
    assert len(rewards) == 100 * game.length
    assert abs(np.mean(rewards)) < 4 / len(rewards) ** 0.5


def test_the_pendulum_has_torques_from_end_to_end() -> None:
    world, original = overestimation.pendulum(), gymnasium.make("Pendulum-v1")
    for action, torque in ((0, -2.0), (12, 0.0), (24, 2.0)):
        world.reset(seed=1)
        original.reset(seed=1)
        obs, reward, *_ = world.step(action)
        wanted, wanted_reward, *_ = original.step(np.array([torque], np.float32))
        assert obs.tolist() == wanted.tolist()
        assert reward == wanted_reward


def test_the_values_are_looked_at_along_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overestimation, "CHANCE_STEPS", 1_200)
    monkeypatch.setattr(overestimation, "LOOK_EVERY", 250)
    measured = overestimation.in_chance(seed=1)
    for name in overestimation.ALGORITHMS:
        steps = [step for step, _ in measured[name]]
        assert steps == [250, 500, 750, 1_000]
        late = [value for _, value in measured[name][2:]]
        assert measured[f"bias of {name}"] == pytest.approx(np.mean(late))
    assert measured["truth"] == [[step, 0.0] for step in steps]


@pytest.mark.parametrize("action", [0, 1])
def test_a_pole_that_falls_is_worth_one_step_whatever_is_done(action: int) -> None:
    world = gymnasium.make("CartPole-v1").unwrapped
    for state, falls in zip(stability.POLES.tolist(), (False, True, True), strict=True):
        world.reset(seed=1)
        world.state = np.array(state)
        _, reward, terminated, *_ = world.step(action)
        assert (reward, terminated) == (1.0, falls)


def test_dqn_without_its_parts_is_dqn_with_other_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stability, "STEPS", 600)
    measured = stability.in_cartpole(seed=1)
    for name in stability.WITHOUT:
        upright, falling = (measured[f"{name}, {of}"] for of in ("upright", "falling"))
        assert [step for step, _ in upright] == [200, 400, 600]
        assert measured[f"upright, {name}"] == max(v for _, v in upright[1:])
        late = [value for _, value in falling[1:]]
        assert measured[f"falling, {name}"] == pytest.approx(np.mean(late))
        assert measured[f"episode, {name}"] > 0
    assert measured["upright, no target network"] > 2 * measured["upright, both"]
