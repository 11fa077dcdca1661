"""Networks that lie on one another say and learn what they do apart."""

import pytest
import torch

from yieldrl.benchmarks.claims.time import stacked
from yieldrl.benchmarks.registry import CLAIMS


def test_both_sides_take_the_same_step():
    losses = {}
    for side in stacked.SIDES:
        algorithm = stacked.make_algorithm(side, seed=3, speed="eager")
        batch = stacked.make_batch(64, seed=1)
        logs = [algorithm.learn(batch) for _ in range(3)]
        losses[side] = [float(log["loss"]) for log in logs]
        sizes = [p.numel() for p in algorithm.model.parameters()]
        assert sum(sizes) == 2 * (5 * 64 + 65 * 64) + 65 * 2 + 65
    assert losses["apart"] == pytest.approx(losses["stacked"], rel=1e-5)
    assert len({*losses["apart"]}) == 3


def test_turns_are_timed(monkeypatch, traced):
    monkeypatch.setattr(stacked, "TURNS", 2)
    monkeypatch.setattr(stacked, "STEPS", 16)
    torch.manual_seed(0)
    run = stacked.take_turns(rows=8, seed=2)
    assert (run["rows"], run["seed"]) == (8, 2)
    assert run["apart"] > 0 < run["stacked"]
    assert len(traced) == 2  # both were compiled
    runs = [run | {"rows": rows} for rows in stacked.ROWS]
    header, rows = CLAIMS["time"]["stacked"].table(runs)
    assert [len(row) for row in rows] == [len(header)] * 3
