"""The claim about a film of Breakout: what a run records, and how it is drawn."""

from typing import Any

import pytest
import torch

from yieldrl.benchmarks import style
from yieldrl.benchmarks.claims.imagination import film
from yieldrl.benchmarks.registry import CLAIMS

CLAIM = CLAIMS["imagination"]["film"]
BALL, PADDLE = 1, 0


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(film, "GAMES", {"num_envs": 4, "steps": 20, "random": 0.1})
    look = {"num_envs": 6, "after": 2, "seen": 3, "ahead": 4}
    config = {"memory_size": 8, "groups": 2, "classes": 3}
    monkeypatch.setattr(film, "LOOK", look)
    monkeypatch.setattr(
        film, "MODEL", {**film.MODEL, "config": config, "batch_size": 2, "steps": 1}
    )


@pytest.mark.usefixtures("short")
def test_a_run_has_shares_of_every_step_and_both_films():
    run = film.train(3)
    for thing in film.THINGS:
        assert [*run[thing]] == ["1", "2", "3", "4"]
        assert all(0 <= share <= 1 for share in run[thing].values())
    assert {len(boards) for boards in run["film"].values()} == {7}
    assert {*"".join(run["film"]["real"])} <= {*"01234"}
    assert {*"".join(run["film"]["imagined"])} <= {*"01234abcd"}
    assert film.train(3)["film"] == run["film"]


def test_the_script_follows_the_ball(monkeypatch):
    monkeypatch.setattr(film, "GAMES", {"random": 0.0})
    boards = torch.zeros(3, 10, 10, 4)
    boards[:, 9, 5, PADDLE] = 1
    for game, column in enumerate((2, 5, 8)):
        boards[game, 4, column, BALL] = 1
    chosen = film.follow(boards.bool(), torch.Generator().manual_seed(0))
    assert chosen.tolist() == [1, 0, 2]  # left, nothing, right


def test_what_is_perhaps_there_is_a_letter():
    cells = torch.zeros(10, 10, 4)
    cells[0, 0, 3], cells[0, 1, 1], cells[0, 2, 0] = 0.9, 0.3, 0.05
    assert film.thinly(cells) == "4b" + "0" * 98


def test_a_perfect_model_is_right_in_every_game(monkeypatch):
    monkeypatch.setattr(film, "LOOK", {"seen": 1, "ahead": 2})
    monkeypatch.setattr(film, "paint", lambda world, obs, *_: [*obs.float()])
    generator = torch.Generator().manual_seed(1)
    data = film.games(3, 3, 1, generator)
    no_model: Any = None  # `paint` asks none
    found = film.looked(no_model, data)
    assert found["ball"] == found["paddle"] == found["wall"] == {"1": 1.0, "2": 1.0}
    assert found["film"]["real"] == found["film"]["imagined"]


def test_table_and_figure(tmp_path):
    shares = {str(k): 1 - k / 60 for k in range(1, 31)}
    runs = [{"seed": 1, **dict.fromkeys(film.THINGS, shares)}]
    _, rows = CLAIM.table(runs)
    assert rows[0] == ["ball", "0.98", "0.92", "0.75", "0.50"]
    path = tmp_path / "film.svg"
    style.save_figure(lambda axes: CLAIM.draw(axes, runs), path)
    assert path.exists()
