"""Numbers that pages say in words are those of the committed results."""

from __future__ import annotations

import statistics

import numpy as np
import torch
from site_logic import DOCS

from yieldrl.benchmarks import results
from yieldrl.benchmarks.learning import final_returns
from yieldrl.benchmarks.tasks import FIGURES, TASKS


def step_times(name, side="yieldrl"):
    """Environments -> seconds of a step of them all, as it was measured."""
    points = results.load(results.FOLDER / f"{name}.json")["points"]
    return {
        point["num_envs"]: point["num_envs"] / point["sides"][side]["steps_per_second"]
        for point in points
        if side in point["sides"]
    }


def test_what_pages_say_of_speed_was_measured():
    text = " ".join((DOCS / "your-world.md").read_text("utf-8").split())
    assert "takes between one and three times as long as one of 16" in text
    assert "there 1 024 take 30 times as long" in text
    assert "from 2 % of what they took (one world of Seaquest) to 87 % (16 384" in text
    names = {path.stem for path in results.FOLDER.glob("worlds-*.json")}
    growth = {}
    for name in names:
        times = step_times(name)
        growth[name] = times[1024] / times[16]
    assert round(growth.pop("worlds-half_cheetah")) == 30
    assert all(1 <= times <= 3 for times in growth.values())
    shares = {
        (name, size): seconds / step_times(name)[size]
        for name in growth
        for size, seconds in step_times(name, "yieldrl, compiled").items()
    }
    least, most = (
        min(shares, key=shares.__getitem__),
        max(shares, key=shares.__getitem__),
    )
    assert (least, round(shares[least], 2)) == (("worlds-minatar-seaquest", 1), 0.02)
    assert (most, round(shares[most], 2)) == (("worlds-cartpole", 16384), 0.87)


def test_what_rainbows_page_says_of_its_parts_was_measured():
    tasks = {name: TASKS[name] for name in FIGURES["rainbow-parts"]}
    found = {name: results.load(results.FOLDER / f"{name}.json") for name in tasks}
    arrived = {
        tasks[name].algorithm: sum(value == 100 for value in final_returns(of["runs"]))
        for name, of in found.items()
    }
    soonest = max(
        found,
        key=lambda name: statistics.mean(
            point["episode_return"]
            for run in found[name]["runs"]
            for point in run["curve"]
        ),
    )
    text = (DOCS / "algorithms" / "rainbow.md").read_text("utf-8")
    assert "plain DQN have it on as many of five seeds" in text
    assert soonest == "rainbow-corridor100"
    assert arrived["dqn"] == arrived["n_step_dqn"] == arrived["rainbow"] == 4
    assert arrived["c51"] == 5


def test_what_chapter_19_says_of_the_best_of_n_was_measured():
    text = " ".join((DOCS / "course/19-preferences.md").read_text("utf-8").split())
    assert "Even the model of 1 200, which is right in nine of ten pairs that" in text
    assert "has passed its top at $n = 32$" in text
    assert "with few pairs below where it began" in text
    runs = results.load(results.FOLDER / "preferences-best_of.json")["runs"]
    sides = {run["side"]: [r for r in runs if r["side"] == run["side"]] for run in runs}
    many = sides["1200 pairs"]
    assert round(10 * statistics.mean(run["held_out"] for run in many)) == 9
    mean = {name: np.mean([r["curve"] for r in of], 0) for name, of in sides.items()}
    number, _, _, right = mean["1200 pairs"].T
    assert number[right.argmax()] < 32
    assert mean["50 pairs"][-1, 3] < mean["400 pairs"][-1, 3] < right[0] < right[-1]
    assert "Where the best of $n$ by the model of 400 pairs has gained most" in text
    _, kl, learned, right = mean["400 pairs"][mean["400 pairs"][:, 3].argmax()]
    _, distance, judged, found = mean["400 pairs, GRPO"].T
    assert np.interp(kl, distance, judged) < learned
    assert np.interp(kl, distance, found) < found[0] < right


def test_what_the_page_of_grpo_says_of_a_bandit_was_measured():
    text = (DOCS / "algorithms/grpo.md").read_text("utf-8")
    assert "whose best arm has a probability of 0.015 at first" in text
    runs = results.load(results.FOLDER / "writing-gradient.json")["runs"]
    most = max(runs, key=lambda run: run["steps"])
    generator = torch.Generator().manual_seed(most["seed"])
    logits, rewards = torch.randn(2, 4, generator=generator)
    assert round(float(logits.softmax(0)[rewards.argmax()]), 3) == 0.015
    assert most["side"] == "rloo"
