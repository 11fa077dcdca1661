"""Agents are trained and filmed, and what is known of them is written down."""

import json

import pytest
from PIL import Image

from yieldrl.benchmarks import gallery


def test_a_film_a_picture_and_what_is_known(monkeypatch, tmp_path):
    short = gallery.FILMS["cliff-q"]._replace(steps=6, width=384, episodes=2)
    fields = {**short.fields, "total_steps": 400, "num_envs": 4}
    monkeypatch.setitem(gallery.FILMS, "cliff-q", short._replace(fields=fields))
    film, still, said = gallery.shoot("cliff-q", seed=3, folder=tmp_path)
    assert [path.name for path in (film, still, said)] == [
        "cliff-q.mp4",
        "cliff-q.png",
        "cliff-q.json",
    ]
    assert film.stat().st_size > 500
    with Image.open(still) as picture:
        assert picture.size == (384, 128)
    notes = json.loads(said.read_text("utf-8"))
    assert notes["sample_step"] == 400
    assert notes["command"] == "python -m benchmarks gallery cliff-q --seed 3"
    assert (notes["seed"], notes["episodes"]) == (3, 2)


@pytest.mark.parametrize("name", gallery.FILMS)
def test_every_film_has_a_trainer_whose_worlds_are_drawn(name):
    with gallery.make_trainer(gallery.FILMS[name], 2) as trainer:
        assert trainer.config.seed == 2
        assert trainer.config.eval_every == 0
