"""The claim about Breakout: what a run records, and what is made of it."""

import re

import pytest
import torch

from yieldrl.benchmarks import plot, results, style
from yieldrl.benchmarks.claims.imagination import breakout
from yieldrl.benchmarks.registry import CLAIMS

CLAIM = CLAIMS["imagination"]["breakout"]
SHORT = {
    "num_envs": 2,
    "total_steps": 64,
    "learning_starts": 48,
    "eval_every": 32,
    "eval_episodes": 1,
    "memory_size": 8,
    "hidden_sizes": (8,),
    "horizon": 2,
}


def test_a_run_has_its_evaluations_and_what_was_foreseen(monkeypatch):
    monkeypatch.setitem(breakout.SIDES, "dreamer", SHORT)
    run = breakout.train("dreamer", 3)
    assert [step for step, _ in run["curve"]] == [32, 64]
    assert len(run["ball"]) == breakout.AHEAD
    film = run["film"]
    assert {len(boards) for boards in film.values()} == {breakout.SEEN + breakout.AHEAD}
    assert {len(board) for board in film["real"] + film["imagined"]} == {100}
    assert {*"".join(film["real"])} <= {*"01234"}
    assert sum(map(int, film["real"][0])) == 29 * 4 + 2 + 1  # bricks, ball, paddle


def test_boards_are_numbers_of_channels():
    cells = torch.zeros(10, 10, 4)
    cells[0, 1, 3], cells[9, 9, 0], cells[5, 5, 2] = 0.9, 0.6, 0.4
    text = breakout.board(cells)
    assert text[1] == "4"
    assert text[99] == "1"
    assert text.count("0") == 98


def test_the_ball_is_where_it_is_most_probable():
    boards = torch.zeros(2, 10, 10, 4)
    boards[0, 3, 4, breakout.BALL] = 0.2
    boards[1, 9, 0, breakout.BALL] = 1.0
    assert breakout.where(boards).tolist() == [34, 90]


def run_of(side, seed, scores, ball=None):
    curve = [[2000 * (i + 1), score] for i, score in enumerate(scores)]
    run = {"side": side, "seed": seed, "curve": curve, "cpu_seconds": 7.0}
    return run if ball is None else {**run, "ball": ball}


RUNS = [
    run_of(side, seed, [0.5 * seed, 2.0 * seed], ball)
    for seed in (1, 2)
    for side, ball in {
        "dreamer": [0.9, *[None] * 3, 0.5 * seed - 0.25, *[None] * 10],
        "ppo": None,
        "rainbow": None,
    }.items()
]


def test_its_table_and_its_figure(tmp_path, monkeypatch: pytest.MonkeyPatch):
    text = results.table(*CLAIM.table(RUNS))
    assert "3.00 (2.00 to 4.00)" in text
    assert "0.90" in text
    assert breakout.ball_5(RUNS) == 0.5
    assert breakout.ball_15(RUNS) is None
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    result = {"kind": "imagination", "trial": "breakout", "runs": RUNS}
    path = tmp_path / "imagination-breakout.svg"
    svg = plot.draw(plot.draw_claim, result, path).read_text()
    assert "dreamer, 2 seeds" in re.sub(r"\s+", " ", svg)
