"""Claims about collectors: what is judged, and small runs of what is measured."""

import math
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import plot, results, style
from yieldrl.benchmarks.claims.collecting import (
    corrections,
    lag,
    overhead,
    overlap,
    soak,
)
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.foundations import derive_seed


def pairs(sync: float, background: float) -> list[dict[str, Any]]:
    return [
        {"ratio": ratio, "seed": seed, "sync": sync, "async": background}
        for ratio in overlap.RATIOS
        for seed in (1, 2)
    ]


def returned(**returns: float) -> list[dict[str, Any]]:
    """Two seeds of every side, one above its mean return and one below."""
    means = dict.fromkeys(corrections.SIDES, -1_000.0) | returns
    return [
        {
            "side": side,
            "seed": seed,
            "final": mean + apart,
            "policy_lag": 0.9,
            "seconds": 8.0,
            "curve": [[1_000, mean - 50], [2_000, mean]],
        }
        for side, mean in means.items()
        for seed, apart in ((1, 10.0), (2, -10.0))
    ]


def lagged() -> list[dict[str, Any]]:
    return [
        {
            "correction": correction,
            "lag": updates,
            "seed": seed,
            "final": 500.0 - 10 * updates,
            "curve": [[1_000, 100.0], [2_000, 300.0]],
        }
        for correction in corrections.CORRECTIONS
        for updates in lag.LAGS
        for seed in (1, 2)
    ]


def sliced(ratio: float, share: float = 0.95) -> list[dict[str, Any]]:
    return [
        {
            "work": work,
            "seed": 1,
            "learner's share": share,
            "sync": [2.0, 2.0, 4.0],
            "async": [2.0 * ratio, 2.0 * ratio, 40.0],
        }
        for work in overhead.WORKS
    ]


def looks(growth: float, threads: int = 0) -> list[dict[str, float]]:
    """Ten minutes; in the first two the memory triples."""
    return [
        {
            "seconds": 60.0 * minute,
            "rss_mib": 100.0 * minute if minute < 2 else 300 + growth * minute,
            "threads": 4 + threads * (minute > 5) - (minute < 2),
            "handles": 9,
            "ppo": 512 * minute,
            "dqn": 256 * minute,
        }
        for minute in range(11)
    ]


RUNS = {
    "overlap": pairs(16.0, 8.0),
    "corrections-cartpole": returned(sync=500.0, clip=490.0),
    "corrections-pendulum": returned(sync=500.0, clip=490.0),
    "corrections-tmaze": returned(sync=500.0, clip=490.0),
    "lag": lagged(),
    "overhead": sliced(1.02),
    "soak": looks(0.1),
}


@pytest.mark.parametrize("name", CLAIMS["collecting"])
def test_a_claim_is_a_table_and_a_figure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, runs = CLAIMS["collecting"][name], RUNS[name]
    assert all(verdict.holds for verdict in claim.judge(runs))
    assert results.table(*claim.table(runs)).count("\n") >= 3
    result = {"kind": "collecting", "trial": name, "runs": runs}

    assert plot.DRAW["collecting"] is plot.draw_claim
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    path = tmp_path / f"collecting-{name}.svg"
    svg = plot.draw(plot.draw_claim, result, path).read_text()
    assert len(re.findall(r"<text[^>]*>([^<]*)</text>", svg)) > 8


def test_the_longer_of_two_is_the_limit() -> None:
    assert [overlap.limit(x) for x in (0.25, 1.0, 4.0)] == [1.25, 2.0, 1.25]


def test_side_by_side_must_be_1_8_times_as_fast() -> None:
    (verdict,) = CLAIMS["collecting"]["overlap"].judge(pairs(18.0, 10.0))
    assert (verdict.value, verdict.holds) == (1.8, True)
    assert not CLAIMS["collecting"]["overlap"].judge(pairs(17.9, 10.0))[0].holds


def test_a_pair_times_the_same_updates_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "STEP_SECONDS", 0.005)
    monkeypatch.setattr(overlap, "UPDATES", 3)
    run = overlap.pair("1:2", seed=2)
    assert list(run)[-2:] == ["async", "sync"], "even seeds begin with async"
    assert (run["collecting"], run["learning"]) == (0.02, 0.04)
    assert run["sync"] >= 3 * 0.06
    assert run["async"] >= 0.02 + 3 * 0.04


@pytest.mark.parametrize(("best", "holds"), [(-209.0, True), (-211.0, False)])
def test_the_best_correction_must_be_near(best: float, holds: bool) -> None:
    runs = returned(sync=-200.0, gipo=best, clip=-400.0)
    (verdict,) = corrections.judge(runs)
    assert verdict.demand.startswith("share by which the best, gipo,")
    assert verdict.value == pytest.approx((-200 - best) / 200)
    assert verdict.holds == holds


def test_both_collectors_learn_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(corrections.STEPS, "ppo-cartpole", 1_024)
    sides = {s: corrections.train("ppo-cartpole", s, 1) for s in ("sync", "gipo")}
    for run in sides.values():
        assert run["curve"][-1][0] == 1_024
        assert math.isfinite(run["final"])
    assert sides["sync"]["policy_lag"] == 0
    assert 0 <= sides["gipo"]["policy_lag"] <= 1


def collected(updates_ago: int | None) -> list[torch.Tensor]:
    """Actions and versions of four rollouts, with a lag or as PPO collects itself."""
    config = ppo.Config(num_steps=8, total_steps=128, num_epochs=2, eval_every=0)
    rollouts: list[torch.Tensor] = []
    with ppo.Trainer(config) as trainer:
        if updates_ago is not None:
            parts = trainer.envs, trainer.agent, trainer.buffer
            seed = derive_seed(config.seed, "envs")
            trainer.collector = lag.Lagged(*parts, seed=seed, lag=updates_ago)
        for log in trainer():
            if log["log_type"] == "collect" and trainer.buffer.full:
                wanted = "action" if updates_ago is None else "policy_version"
                wanted = wanted if updates_ago else "action"
                rollouts.append(trainer.buffer.rollout()[wanted].clone())
        assert trainer.agent.sample_step == 128
    return rollouts


def test_without_a_lag_the_actions_are_those_of_ppo() -> None:
    assert all(map(torch.equal, collected(0), collected(None)))


def test_the_policy_of_two_updates_ago_acts() -> None:
    # An update is eight gradient steps, and one count for what moves once a rollout.
    versions = [rollout.unique().tolist() for rollout in collected(2)]
    assert versions == [[0], [0], [0], [9]]


def test_returns_are_taken_at_the_end_and_along_training() -> None:
    assert lag.of(lagged(), "gipo", 4) == [460.0, 460.0]
    assert lag.of(lagged(), "gipo", 4, along=True) == [200.0, 200.0]


def test_the_median_pair_may_take_a_tenth_more() -> None:
    (verdict,) = CLAIMS["collecting"]["overhead"].judge(sliced(1.1))
    assert verdict.value == pytest.approx(1.1)
    assert verdict.demand.startswith("free (learner's share 95%)")
    assert not CLAIMS["collecting"]["overhead"].judge(sliced(1.11))[0].holds


def test_slices_alternate_and_go_on_where_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overhead, "SLICES", 2)
    monkeypatch.setitem(overhead.UPDATES, "W1", 1)
    run = overhead.slices("W1", 1)
    assert 0 < run["learner's share"] < 1
    assert len(run["sync"]) == len(run["async"]) == 2


def test_where_collecting_is_free_the_learner_has_most_of_the_time() -> None:
    with overhead.free(1, "sync") as trainer:
        spent = overhead.one_slice(trainer, 1)
        assert trainer.agent.learn_step == 160
    assert spent["collect"] < spent["train"] < spent["all"]


def test_growth_is_what_comes_after_the_first_fifth() -> None:
    assert soak.growth(looks(2.0)) == pytest.approx(2.0)
    assert [verdict.holds for verdict in soak.judge(looks(0.4))] == [True] * 3
    assert [verdict.holds for verdict in soak.judge(looks(0.6, threads=1))] == [
        False,
        False,
        True,
    ]


def threads_that_stay() -> int:
    """Of this process: one that was joined may still be leaving."""
    counts: list[int] = []
    until = time.monotonic() + 60
    while len({*counts[-30:]}) != 1 or len(counts) < 30:
        assert time.monotonic() < until
        counts.append(soak.look()["threads"])
        time.sleep(0.01)
    return counts[-1]


def test_a_short_soak_looks_at_this_process() -> None:
    found = soak.soak(minutes=0.01, every=0.2)
    assert len(found) >= 2
    assert found[-1]["ppo"] > found[0]["ppo"] > 0
    assert found[-1]["dqn"] > found[0]["dqn"] > 0
    assert found[-1]["threads"] >= threads_that_stay() + 2  # who collects
