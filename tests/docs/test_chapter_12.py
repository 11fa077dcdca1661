"""What chapter 12 says of measurements, of the library and of Taxi is so."""

from __future__ import annotations

import importlib
import statistics
from typing import Any

import gymnasium
import pytest
from site_logic import DOCS

from yieldrl.algorithms import ppo, ppo_lstm
from yieldrl.benchmarks import results
from yieldrl.cli import catalog
from yieldrl.docs._site import course

WAYS = ("north", "south")
PAGE = (DOCS / "course" / "12-memory-and-masks.md").read_text("utf-8")
TEXT = " ".join(PAGE.split())


def measured(name):
    return results.load(results.FOLDER / f"{name}.json")


def finals(name):
    return [run["final"]["episode_return"] for run in measured(name)["runs"]]


def at(name, step):
    """Every seed's return at a step."""
    return [
        next(p["episode_return"] for p in run["curve"] if p["sample_step"] == step)
        for run in measured(name)["runs"]
    ]


@pytest.fixture(scope="module")
def signpost():
    return measured("ppo_lstm-signpost")["runs"]


def numbers(runs, name):
    return [run["numbers"][name] for run in runs]


def test_a_coin_and_then_everything():
    assert "between 0.41 and 0.61 over 100 episodes" in TEXT
    control = finals("ppo-tmaze")
    assert (min(control), max(control)) == pytest.approx((0.41, 0.61))
    assert "At 40 000 steps, its five seeds return between 0.3 and 0.8" in TEXT
    before = at("ppo_lstm-tmaze", 40_000)
    assert (min(before), max(before)) == pytest.approx((0.3, 0.8))
    assert "at 50 000 all five return 1, and stay there" in TEXT
    for step in range(50_000, 100_000, 10_000):
        assert at("ppo_lstm-tmaze", step) == pytest.approx([1.0] * 5)


def test_what_the_page_says_of_positions():
    assert "Without velocities PPO ends at 44 on average" in TEXT
    assert round(statistics.mean(finals("ppo-cartpole-positions"))) == 44
    assert "16 beside 4" in TEXT
    names = ("ppo_lstm-cartpole-positions", "ppo-cartpole-positions")
    assert [measured(n)["whole_config"]["num_envs"] for n in names] == [16, 4]


def test_what_the_page_says_of_the_taxi():
    assert "earns −200 in every one of its final episodes" in TEXT  # noqa: RUF001
    for run in measured("ppo-taxi")["runs"]:
        final = run["final"]
        least, most = final["episode_return_min"], final["episode_return_max"]
        assert (least, most, final["episode_length"]) == (-200, -200, 200)
    assert "With masks all five arrive" in TEXT
    assert min(finals("ppo_masked-taxi")) > 7
    assert "returns 7.95 on average after 150 000 steps" in TEXT
    assert statistics.mean(finals("q_learning-taxi")) == pytest.approx(7.95)
    assert measured("q_learning-taxi")["whole_config"]["total_steps"] == 150_000
    assert "three are impossible where you stand, on average" in TEXT
    possible = numbers(measured("ppo_masked-possible")["runs"], "possible of 6")
    assert round(6 - statistics.mean(possible)) == 3


def test_taxi_punishes_two_of_its_actions():
    assert "Taxi itself does it for two of its six actions" in TEXT
    taxi: Any = gymnasium.make("Taxi-v4").unwrapped
    table = taxi.P
    punished = {
        action
        for actions in table.values()
        for action, outcomes in actions.items()
        if any(reward == -10 for _, _, reward, _ in outcomes)
    }
    assert punished == {4, 5}
    assert len(table) == 500


def test_the_memory_decides_on_every_seed(signpost):
    assert "So it is on all five seeds. The corridor was ten steps long" in TEXT
    assert min(numbers(signpost, "right turns")) > 0.95
    assert max(numbers(signpost, "right turns, exchanged")) < 0.05
    assert numbers(signpost, "right turns, emptied") == pytest.approx([0.5] * 5)
    far = numbers(signpost, "right turns, 100 steps")
    assert "After a *hundred* steps four of the five networks are still right" in TEXT
    assert [p > 0.99 for p in far] == [False, True, True, True, True]
    assert "After 40 steps it still is right; after 50 it turns south" in TEXT
    north, south = (dict(signpost[0]["series"][f"{way}, trained"]) for way in WAYS)
    assert (north[40], south[40]) == pytest.approx((1, 0), abs=0.01)
    assert (north[50], south[50]) == pytest.approx((0, 0), abs=0.011)


def test_without_a_reset_two_seeds_lose_nothing(signpost):
    assert "They return 0.92, 0.98, 0.94, 1 and 1, over 100 episodes each" in TEXT
    returned = numbers(signpost, "return, never reset")
    assert returned == pytest.approx([0.92, 0.98, 0.94, 1, 1])
    assert numbers(signpost, "return") == pytest.approx([1.0] * 5)


def test_the_figure_shows_what_was_measured(signpost):
    names, details = course.load("t_maze_memory"), signpost[0]["details"]
    shown = dict(zip(names["CHOICES"], names["figure"]()["frames"], strict=True))
    (kept, turns, _, _) = shown["kept"]
    exchanged = shown["exchanged"][0]
    for row in range(names["ROWS"]):
        north, south = (line[1:].split("L") for line in kept[2 * row : 2 * row + 2])
        half = names["AT"]
        assert exchanged[2 * row][1:].split("L") == north[:half] + south[half:]
    assert len(turns[0].split("L")) == 10
    ends = {choice: names["walks"](details, choice, "north")[-1] for choice in shown}
    assert ends["kept"][0] > 0.95 > 0.05 > ends["kept"][1]
    assert ends["exchanged"][0] < 0.05 < 0.95 < ends["exchanged"][1]
    assert ends["emptied"][0] == pytest.approx(ends["emptied"][1], abs=0.001)
    assert "in about 60 % of the cases, whatever the sign has said" in TEXT
    assert names["walks"](details, "kept", "north")[0] == pytest.approx(
        [0.6] * 2, abs=0.02
    )
    before = ends["before training"]
    assert before == pytest.approx([0.5, 0.5], abs=0.02)


def test_what_the_page_says_of_the_library():
    assert "a few steps away from those that wrote the stored state: 15" in TEXT
    config = ppo_lstm.Config()
    assert config.num_epochs * config.num_minibatches - 1 == 15
    assert "One algorithm of the library has both a memory and a replay buffer" in TEXT
    trainers = {
        name: importlib.import_module(f"yieldrl.algorithms.{name}").Trainer
        for name in catalog.folders()
    }
    remembering = {n: t for n, t in trainers.items() if t.agent_class.has_memory}
    assert "ppo_lstm" in remembering
    replaying = {n for n, t in remembering.items() if not issubclass(t, ppo.Trainer)}
    assert replaying == {"dreamer"}
