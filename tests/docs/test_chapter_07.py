"""The figure of chapter 7, and what its page says of it and of measurements."""

from __future__ import annotations

import statistics
from itertools import product

import numpy as np
import pytest
import torch
from site_logic import DOCS

from yieldrl.algorithms import c51, prioritized_dqn, rainbow
from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims.evidence import prioritization
from yieldrl.benchmarks.worlds import Cliffwalk
from yieldrl.docs._site import course


@pytest.fixture(scope="module")
def text():
    path = DOCS / "course" / "07-double-to-rainbow.md"
    return " ".join(path.read_text("utf-8").split())


@pytest.fixture(scope="module")
def atoms():
    return course.load("atoms")


def result(name):
    return results.load(results.FOLDER / f"{name}.json")


def means(name):
    numbers = [run["numbers"] for run in result(name)["runs"]]
    return {key: statistics.mean(of[key] for of in numbers) for key in numbers[0]}


def test_what_the_page_says_of_the_field_is_so(atoms, text):
    z, places = atoms["following"](), atoms["ATOMS"]
    assert z.sum() == pytest.approx(1)
    assert "which is a return of 1" in text
    assert z[places == 1].item() == pytest.approx(1 / 3, abs=1e-3)
    assert "The mean is 0.64. Of all returns one in nine is near it." in text
    assert z @ places == pytest.approx(0.64, abs=5e-3)
    assert z[6:8].sum() == pytest.approx(1 / 9, abs=5e-3)  # 0.6 and 0.7


def test_the_target_keeps_the_mean_as_long_as_nothing_lies_outside(atoms):
    z, places = atoms["following"](), atoms["ATOMS"]
    kept = 0
    for choice in product(atoms["REWARDS"], atoms["GAMMAS"], (False, True)):
        moved, target = atoms["moved"](*choice), atoms["target"](z, *choice)
        assert target.min() >= 0
        assert target.sum() == pytest.approx(1)
        inside = moved.min() > -1e-9 and moved.max() < 1 + 1e-9
        assert inside != ("beyond the atoms" in atoms["said"](*choice))
        if inside:
            assert target @ places == pytest.approx(float(moved @ z))
            kept += 1
    assert kept > 15


def test_what_the_page_says_of_the_last_atom_is_so(atoms, text):
    assert "with a discount of 1 and a reward of 0.1. Now a third" in text
    assert "a share of 0.33 lies beyond" in atoms["said"](0.1, 1.0, False)


def test_the_wrong_order_of_parents_is_noticed(text):
    assert "ends with a `KeyError` that names them" in text

    class Reversed(c51.Algorithm, prioritized_dqn.Algorithm):
        pass

    class Trainer(prioritized_dqn.Trainer):
        config_class, model_class, algorithm_class = rainbow.Config, c51.Model, Reversed

    config = rainbow.Config(
        total_steps=40, learning_starts=20, eval_every=0, speed="eager"
    )
    with Trainer(config) as trainer, pytest.raises(KeyError, match="priority"):
        list(trainer())


def test_a_fall_beyond_the_last_atom_is_not_seen(text):
    assert "50 is what the next 69 steps are worth" in text
    worth = (1 - 0.99 ** torch.tensor([68.0, 69.0])) / (1 - 0.99)
    assert worth[0] < 50 < worth[1]


def test_what_the_page_says_of_claims_was_measured(text):
    assert (
        "a little more than a third of DQN's in the first, a fifth in the second"
        in text
    )
    for name, share in (("chance", 1 / 3), ("pendulum", 1 / 5)):
        bias = means(f"double_dqn-{name}")
        found = bias["bias of double_dqn"] / bias["bias of dqn"]
        assert found == pytest.approx(share, abs=0.05)
    assert "2 046 transitions, and only one of them has a reward" in text
    ways = list(prioritization.all_ways(Cliffwalk(prioritization.LENGTH)))
    assert len(ways) == 2046
    assert sum(float(way["reward"].sum()) > 0 for way in ways) == 1


def test_what_the_page_says_of_the_dueling_lead_was_measured(text):
    assert (
        "At update 1 000 the dueling network is ahead by some seventy updates" in text
    )
    series = [run["series"] for run in result("dueling_dqn-actions")["runs"]]
    updates = np.array(series[0]["dqn"])[:, 0]
    dqn, dueling = (
        np.mean([np.array(of[name])[:, 1] for of in series], 0)
        for name in ("dqn", "dueling_dqn")
    )
    there = dqn[updates == 1000]
    assert 1000 - np.interp(-there, -dueling, updates) == pytest.approx(70, abs=5)


def test_what_the_page_says_of_cartpole_was_measured(text):
    names = ("dqn", "double_dqn", "dueling_dqn", "prioritized_dqn", "n_step_dqn")
    runs = {name: result(f"{name}-cartpole")["runs"] for name in names}
    assert "after 20 000 steps they have 356 points, and the others 126 to 195" in text
    early = {
        name: round(statistics.mean(run["curve"][1]["episode_return"] for run in of))
        for name, of in runs.items()
    }
    assert runs["dqn"][0]["curve"][1]["sample_step"] == 20_000
    assert early.pop("n_step_dqn") == 356
    assert (min(early.values()), max(early.values())) == (126, 195)
    assert "one of the five runs with prioritized replay ends at 224" in text
    ends = {(n, run["final"]["episode_return"]) for n, of in runs.items() for run in of}
    assert [(n, round(end)) for n, end in ends if end < 475] == [
        ("prioritized_dqn", 224)
    ]


def test_what_the_page_says_of_the_corridor_was_measured(text):
    def arrived(name):
        """Steps until each run first arrives, and how many are there in the end."""
        runs = result(f"{name}-corridor100")["runs"]
        first = [
            next(
                of["sample_step"] for of in run["curve"] if of["episode_return"] == 100
            )
            for run in runs
            if any(of["episode_return"] == 100 for of in run["curve"])
        ]
        return first, sum(run["final"]["episode_return"] == 100 for run in runs)

    assert "Rainbow finds the way on four seeds of five, after 7 500 to 9 500" in text
    assert "on four of five, after 10 500 to 12 500" in text
    for name, span in (("rainbow", (7_500, 9_500)), ("dqn", (10_500, 12_500))):
        first, there = arrived(name)
        assert (min(first), max(first), len(first), there) == (*span, 4, 4)
    assert "C51 is at the goal in the end on all five" in text
    assert arrived("c51")[1] == 5
    assert "are there on two or three seeds of five" in text
    names = ("double_dqn", "dueling_dqn", "prioritized_dqn")
    assert [arrived(name)[1] for name in names] == [2, 3, 2]
    assert "prioritized replay is quick where it finds the way at all" in text
    assert max(arrived("prioritized_dqn")[0]) < min(arrived("dqn")[0])
