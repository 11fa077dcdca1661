"""Chapter 5: its figures' borders, targets and seeds, and what its page says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from site_logic import DOCS

from yieldrl.algorithms import q_learning
from yieldrl.benchmarks.scores import interval, iqm
from yieldrl.docs._site import course


@pytest.mark.parametrize(("world", "size"), [("lake", 2), ("cart", 4)])
def test_the_same_transition_passes_every_border(world, size):
    names = course.load("transition_way")
    seen = names["followed"](names[world]())
    row, batch, n = seen["row"], seen["batch"], names["ending"](seen["row"])
    assert type(seen["obs"]) is type(seen["action"]) is np.ndarray
    assert isinstance(seen["tensor"][0], torch.Tensor)
    assert np.array_equal(seen["tensor"][0].numpy(), seen["obs"])
    assert np.array_equal(seen["obs"], row["obs"])
    assert np.array_equal(seen["action"], row["action"])
    assert np.array_equal(seen["step"].next_obs[n], row["next_obs"][n])
    assert seen["q_value"].shape == (2, seen["q_value"].shape[1])
    assert batch.batch_size == (size,)
    mine = batch[seen["at"]]
    assert np.array_equal(mine["next_obs"].numpy(), row["next_obs"][n])
    assert bool(mine["terminated"])
    assert float(mine["reward"]) == 1.0
    assert seen["log"]["log_type"] == "train"


@pytest.fixture(scope="module")
def candles():
    names = course.load("cut_and_end")
    return names, {way: names["Candle"](way) for way in names["LENGTHS"]}


@pytest.mark.parametrize("gae_lambda", [0.0, 1.0])
def test_only_flags_as_they_are_give_what_each_state_is_worth(candles, gae_lambda):
    names, of = candles
    right = {
        (reading, way)
        for reading in names["READINGS"]
        for way, candle in of.items()
        if torch.allclose(candle.targets(reading, gae_lambda), candle.value)
    }
    as_it_is, done, only_a_reset, next_row = names["READINGS"]
    assert right == {
        *((as_it_is, way) for way in of),
        (done, "ended"),
        (only_a_reset, "cut"),
        (next_row, "ended"),
    }


def test_with_all_steps_a_wrong_end_goes_through_the_whole_episode(candles):
    names, of = candles
    cut, done, burnt = of["cut"], "done = either", names["BURNT"]
    wrong = {
        lam: (cut.targets(done, lam) - cut.value).abs() > 1e-6 for lam in (0.0, 1.0)
    }
    assert wrong[0.0].tolist().count(True) == 1
    assert wrong[1.0][:burnt].all()
    assert not wrong[1.0][burnt:].any()


def test_the_page_says_what_the_candles_say(candles):
    names, of = candles
    last = of["cut"].targets("the next row", 0.0)[names["BURNT"] - 1]
    page = next((DOCS / "course").glob("05-*.md")).read_text("utf-8")
    assert f"{last:.1f} where {of['cut'].value[names['BURNT'] - 1]:.1f} is right" in (
        " ".join(page.split())
    )


@pytest.fixture(scope="module")
def fan():
    names = course.load("seed_fan")
    table = names["transitions"]()
    return names, table, names["learned"](table)


def test_three_seeds_of_one_method_may_seem_to_be_two_methods(fan):
    """And with twenty all groups agree, as the page says."""
    names, _, curves = fan
    ends = {
        count: [interval(curves[-1, names["known"](count, g)]) for g in range(3)]
        for count in (3, 20)
    }
    (_, high), (low, _), _ = ends[3]
    assert high < low
    middle = iqm(curves[-1])
    assert all(low < middle < high for low, high in ends[20])


def test_runs_that_share_a_table_learn_as_much_as_runs_of_their_own(fan):
    names, table, curves = fan
    lakes = names["LAKES"]
    config = q_learning.Config(num_envs=lakes, total_steps=2_000, eval_every=0)
    alone = []
    for seed in range(4):
        trainer = q_learning.Trainer(q_learning.Config(**vars(config) | {"seed": seed}))
        for _ in trainer():
            pass
        policy = trainer.model.table.argmax(1).numpy()
        alone.append(names["policy_evaluation"](table, policy, names["GAMMA"])[0])
    shared = curves[2_000 // names["EVERY"]]
    spread = shared.std() * (1 / len(alone) + 1 / len(shared)) ** 0.5
    assert abs(np.mean(alone) - shared.mean()) < 4 * spread
