"""What the page of chapter 20 says of its film and of its figure of failure."""

from __future__ import annotations

import re

import pytest
import torch
from gymnasium.spaces import Box
from site_logic import DOCS
from tensordict import TensorDict

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.imagination import exploited, film
from yieldrl.docs._site import course
from yieldrl.exercises.ch20_worlds_inside import solution
from yieldrl.imagination import EnsembleModel, k_step_errors

PAGE = next((DOCS / "course").glob("20-*.md")).read_text("utf-8")
TEXT = " ".join(PAGE.split())


def runs(name):
    return results.load(results.FOLDER / f"imagination-{name}.json")["runs"]


def test_the_film_is_that_of_the_first_seed():
    figure, boards = course.load("imagined_breakout"), runs("film")[0]["film"]
    assert len(boards["real"]) == len(boards["imagined"]) == film.length()
    assert len(figure["figure"]()["frames"]) == film.length()
    assert f"{film.GAMES['num_envs']} games" in TEXT
    assert "eight boards" in TEXT
    assert film.LOOK["seen"] == 8


def test_the_ball_is_foreseen_as_long_as_the_page_says():
    ball = runs("film")[0]["ball"]
    (steps,) = re.findall(r"in every game for (\d+) steps", TEXT)
    assert all(ball[str(k)] == 1 for k in range(1, int(steps) + 1))
    assert ball[str(int(steps) + 1)] < 1


def test_near_the_end_a_brick_breaks_that_stands_in_imagination():
    boards = runs("film")[0]["film"]
    real, imagined = (
        [board.count("4") for board in boards[name][-3:-1]]
        for name in ("real", "imagined")
    )
    assert real == [imagined[0], imagined[1] - 1]
    last = boards["imagined"][-2]
    assert not {"1", "2"} & {*last}  # neither paddle nor ball
    assert {"1", "2"} & {*boards["real"][-2]}


@pytest.mark.parametrize("side", exploited.SIDES)
def test_the_failure_is_there_on_every_seed(side):
    found = runs("exploited")
    imagined = exploited.gains(found, side, 1)
    assert len(imagined) == 5
    assert min(imagined) > 0
    real = exploited.gains(found, side, 2)
    if side == exploited.FEW:
        assert max(real) < 0
    if side == exploited.ITSELF:
        assert min(real) > 0


def test_the_watch_warned_as_often_as_the_page_says():
    some = exploited.of(runs("exploited"), exploited.FEW)
    numbers = {"three": 3, "four": 4, "five": 5}
    (said,) = re.findall(r"warned of in (\w+) of the five", TEXT)
    assert exploited.warnings(some) == numbers[said]


def test_the_exercises_errors_are_those_of_the_library():
    torch.manual_seed(20)
    world = EnsembleModel(Box(-9, 9, (3,)), Box(-1, 1, (2,)), hidden_sizes=(8,)).eval()
    obs, next_obs = torch.randn(2, 5, 6, 3)
    row = {"obs": obs, "action": torch.rand(5, 6, 2), "next_obs": next_obs}
    goes_on = torch.zeros(5, 6, dtype=torch.bool)
    row |= {"terminated": goes_on, "truncated": goes_on}
    scale = obs.flatten(0, 1).std(0, correction=0)
    mine = solution.k_step_errors(
        lambda state, action: world.predict(state, action).next_obs,
        obs,
        row["action"],
        next_obs,
        scale,
    )
    assert torch.allclose(mine, k_step_errors(world, TensorDict(row, [5, 6])))
