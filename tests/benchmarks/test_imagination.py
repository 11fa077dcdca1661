"""The claim about imagination: what a run records, and what is made of it."""

import functools

import pytest

from yieldrl.benchmarks import style
from yieldrl.benchmarks.claims.imagination import goto, horizons, pendulum
from yieldrl.benchmarks.registry import CLAIMS

CLAIM = CLAIMS["imagination"]["pendulum"]
SHORT = {
    "total_steps": 40,
    "learning_starts": 10,
    "gradient_steps": 1,
    "eval_every": 20,
    "eval_episodes": 1,
    "hidden_sizes": (8,),
    "batch_size": 8,
}
IMAGINED = {"model_every": 20, "num_branches": 16, "model_epochs": 1}


@pytest.fixture
def short(monkeypatch):
    for side, fields in pendulum.SIDES.items():
        own = {**fields, **SHORT, **(IMAGINED if side.startswith("mbpo") else {})}
        monkeypatch.setitem(pendulum.SIDES, side, own)
    monkeypatch.setattr(pendulum, "COMMON", {"device": "cpu", "speed": "eager"})


@pytest.mark.usefixtures("short")
def test_a_run_has_its_evaluations_and_what_each_fit_found():
    run = pendulum.train("mbpo, horizon 5", 3)
    assert [step for step, _ in run["curve"]] == [20, 40]
    assert [fit["step"] for fit in run["fits"]] == [10, 30]
    assert "model_error_5" in run["fits"][1]
    assert run["cpu_seconds"] >= 0
    assert pendulum.train("sac", 3)["fits"] == []


def run_of(side, seed, scores, error=None):
    fits = (
        [] if error is None else [{f"model_error_{k}": error * k for k in (1, 5, 15)}]
    )
    curve = [[250 * (i + 1), score] for i, score in enumerate(scores)]
    return {
        "side": side,
        "seed": seed,
        "curve": curve,
        "fits": fits,
        "cpu_seconds": 7.0,
    }


RUNS = [
    run_of("sac", 1, [-900, -300, -150, -120]),
    run_of("sac", 2, [-900, -300, -270, -260]),
    run_of("mbpo, horizon 5", 1, [-150, -150], 0.1),
    run_of("mbpo, horizon 5", 2, [-230, -150], 0.3),
]


def test_the_goal_is_reached_by_the_mean_of_the_seeds():
    only = functools.partial(pendulum.of, RUNS)
    assert pendulum.mean_curve(only("sac"))[2] == (750, -210)
    assert pendulum.reached(only("sac")) == 1000
    assert pendulum.reached(only("mbpo, horizon 5")) == 250
    assert pendulum.reached(only("sac")[1:]) == float("inf")
    assert pendulum.error_5(only("mbpo, horizon 5")) == pytest.approx(1.0)
    assert pendulum.error_5(only("sac")) is None


def test_verdict_and_figure(tmp_path):
    (verdict,) = CLAIM.judge(RUNS)
    assert verdict.value == 0.25
    assert verdict.holds
    runs = [{**run, "side": side} for run in RUNS[2:] for side in pendulum.SIDES]
    _, rows = CLAIM.table(runs)
    assert len(rows) == len(pendulum.SIDES)
    assert rows[0][1] == "250"
    style.save_figure(lambda axes: CLAIM.draw(axes, runs), tmp_path / "a.svg")


TINY = {
    "env_kwargs": {"height": 2, "width": 2, "num_objects": 1, "max_episode_steps": 3},
    "model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8},
    "num_envs": 8,
    "demonstration_steps": 32,
    "clone_steps": 3,
    "total_steps": 96,
    "eval_every": 64,
    "eval_episodes": 4,
}
FEW = {"refreshes": 2, "num_branches": 8, "model_warmup_steps": 2, "model_steps": 1}


def test_horizons_have_as_many_gradient_steps_of_the_policy(tmp_path, monkeypatch):
    """Of two rollouts twice two passes in two parts; the model's by the stages: two
    and one, or two and each of the policy's."""
    for name, value in TINY.items():
        monkeypatch.setitem(goto.WORLD, name, value)
    for name, value in FEW.items():
        monkeypatch.setitem(goto.IMAGINED, name, value)
    sides = "horizon 15", "horizon 5, one stage"
    runs = [horizons.train(side, 1) for side in sides]
    assert [run["gradient_steps"]["policy"] for run in runs] == [16, 16]
    assert [run["gradient_steps"]["model"] for run in runs] == [3, 18]
    claim = CLAIMS["imagination"]["horizons"]
    runs = [{**runs[0], "side": side} for side in horizons.SIDES]
    _, rows = claim.table(runs)
    assert [row[0] for row in rows] == [*horizons.SIDES]
    style.save_figure(lambda axes: claim.draw(axes, runs), tmp_path / "a.svg")
