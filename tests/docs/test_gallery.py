"""Films of the gallery are there, small, and say what made them."""

from __future__ import annotations

import json
import re

import pytest
from site_logic import DOCS, rendered

from yieldrl.benchmarks import gallery as films
from yieldrl.benchmarks.parser import parse
from yieldrl.docs._site import DirectiveError

FILM = re.compile(r"^ *::: film (\w[\w-]*), (.+)$", re.MULTILINE)
SHOWN = FILM.findall((DOCS / "gallery.md").read_text("utf-8"))


def test_every_film_is_committed_shown_once_and_described():
    assert [name for name, _ in SHOWN] == list(films.FILMS)
    assert all(seen.endswith(".") for _, seen in SHOWN)
    committed = {path.name for path in films.FOLDER.iterdir()}
    ends = ("mp4", "png", "json")
    assert committed == {f"{name}.{end}" for name in films.FILMS for end in ends}
    for path in films.FOLDER.iterdir():
        assert path.stat().st_size < 500_000, path


@pytest.mark.parametrize("name", films.FILMS)
def test_a_film_says_what_made_it_and_that_something_was_learned(name):
    notes = json.loads((films.FOLDER / f"{name}.json").read_text("utf-8"))
    words = notes["command"].split()
    assert words[:3] == ["python", "-m", "benchmarks"]
    parsed = parse(words[3:])
    assert (parsed.command, parsed.names) == ("gallery", [name])
    assert parsed.seed == notes["seed"]
    assert notes["algorithm"] == films.FILMS[name].algorithm
    assert notes["episode_return"] > notes["untrained_return"]


def test_a_page_gets_a_film_that_can_be_stopped_and_what_is_known_of_it():
    markdown = "::: film taxi, A taxi & a guest.\n"
    shown = rendered(markdown, "gallery.md")
    assert shown.count("\n") == 1
    assert (
        'src="../assets/gallery/taxi.mp4" poster="../assets/gallery/taxi.png"' in shown
    )
    assert " controls " in shown
    assert (
        " autoplay" not in shown
    )  # a script begins it, unless less motion is asked for
    assert 'aria-label="A taxi &amp; a guest."' in shown
    assert "<strong>q_learning</strong> on Taxi-v1, 150,000 steps: mean return" in shown
    home = rendered(markdown, "index.md")
    assert 'src="assets/gallery/taxi.mp4"' in home


@pytest.mark.parametrize("asked", ["chess, A game.", "taxi"])
def test_a_film_that_is_not_there_or_not_described_is_an_error(asked):
    with pytest.raises(DirectiveError, match="film"):
        rendered(f"::: film {asked}")


def test_films_stand_still_where_less_motion_is_asked_for():
    script = (DOCS / "assets" / "films.js").read_text("utf-8")
    assert "prefers-reduced-motion: reduce" in script
    assert "let stopped = reduced.matches" in script
