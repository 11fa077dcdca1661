"""The figure of chapter 11, and what its page says of it and of measurements."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from site_logic import DOCS
from tensordict import TensorDict

from yieldrl.algorithms import td3
from yieldrl.benchmarks import results
from yieldrl.docs._site import course


@pytest.fixture(scope="module")
def peak():
    names = course.load("fitted_critics") | course.load("false_peak")
    critics = names["Critics"]()
    return names, critics, names["climb"](critics)


def test_critics_are_fitted_to_their_rewards(peak):
    names, critics, _ = peak
    left = critics.value(critics.action) - critics.reward[:, None]
    assert np.median(abs(left)) < 0.2 * names["NOISE"]


def test_the_actor_follows_the_deterministic_policy_gradient(peak):
    """Theta moves by the derivative of `Q_1(tanh(theta))`."""
    names, critics, path = peak

    def value(theta):
        return names["one"](critics, np.tanh(theta))

    for step in (0, 7):
        theta = np.arctanh(path[step])
        slope = (value(theta + 1e-5) - value(theta - 1e-5)) / 2e-5
        moved = np.tanh(theta + names["RATE"] * slope)
        assert path[step + 1] == pytest.approx(moved, abs=1e-5)


def test_targets_are_those_of_td3_on_average(peak):
    """Its noise is drawn; the figure's are equally likely pieces of the same."""
    names, critics, path = peak
    action = torch.from_numpy(np.tile(path[-1][:, None], 100)).flatten()

    def value(obs, asked):
        values = critics.value(asked.reshape(len(path[-1]), -1).numpy())
        return torch.from_numpy(values).movedim(1, 0).flatten(1)

    algorithm = td3.Algorithm.__new__(td3.Algorithm)
    algorithm.target_model = SimpleNamespace(action=lambda obs: action, value=value)
    algorithm.config = td3.Config()
    torch.manual_seed(11)
    said = algorithm.target_value(TensorDict({"next_obs": action}, action.shape))
    shown = names["smoothed"](critics, path[-1])
    off = said.reshape(len(shown), -1).mean(1).numpy() - shown
    assert abs(off.mean()) < 0.003
    assert off.std() < 0.04


def test_what_the_page_says_of_the_figure_is_so(peak):
    """Promises grow, worth falls; the lower of two halves the error, nearly."""
    names, critics, path = peak
    worth = names["worth"](path)
    assert path[0] == pytest.approx(names["BEST"])
    assert worth[-1].mean() < worth[0].mean() - 0.02
    one, lower, smoothed = (
        target(critics, path[-1]).mean() - worth[-1].mean()
        for target in names["TARGETS"].values()
    )
    assert one > names["one"](critics, path[0]).mean() - worth[0].mean() + 0.3
    assert 0.4 < 1 - lower / one < 0.5
    assert smoothed < 0
    assert abs(smoothed) < one


def test_the_first_draw_that_is_shown_has_a_false_peak(peak):
    names, critics, path = peak
    draw = names["FIRST"]
    said = [target(critics, path[-1])[draw] for target in names["TARGETS"].values()]
    assert said == sorted(said, reverse=True)
    assert said[0] > names["worth"](path[-1])[draw] + 0.4


def test_what_the_page_says_of_measurements_is_so():
    page = next((DOCS / "course").glob("11-*.md"))
    text = " ".join(page.read_text("utf-8").split())
    found = {
        name: results.load(results.FOLDER / f"{name}.json")
        for name in ("ddpg-pendulum", "td3-pendulum", "sac-pendulum", "ppo-pendulum")
    }
    assert "all three arrive, on all five seeds" in text
    assert all((of["passed"], len(of["runs"])) == (5, 5) for of in found.values())
    assert "learned the pendulum in 20 000 steps" in text
    assert "given [fifteen times as many steps](" in text
    steps = [of["whole_config"]["total_steps"] for of in found.values()]
    assert steps == [20_000, 20_000, 20_000, 15 * 20_000]
    assert "One of TD3's five did not reach what had been asked for" in text
    cheetah = results.load(results.FOLDER / "td3-halfcheetah.json")
    assert (cheetah["passed"], len(cheetah["runs"])) == (4, 5)
    assert "HalfCheetah, a running body with six motors, in 50 000" in text
    assert cheetah["whole_config"]["total_steps"] == 50_000
