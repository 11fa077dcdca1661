"""The pictures of the worlds are the ones that the worlds draw."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from PIL import Image

from yieldrl.benchmarks import pictures

PAGE = Path(__file__).parents[2] / "docs" / "worlds.md"
DRAWN_HERE = [
    "t_maze",
    "go_to",
    "go_to_pixels",
    "breakout",
    "asterix",
    "freeway",
    "seaquest",
    "space_invaders",
]


@pytest.fixture(scope="module", params=pictures.WORLDS)
def drawn(request, tmp_path_factory):
    try:
        return pictures.draw(request.param, tmp_path_factory.mktemp("worlds"))
    except (ImportError, DependencyNotInstalled) as reason:  # mujoco, or OpenGL
        pytest.skip(str(reason))


def test_every_picture_is_committed_and_shown():
    page = PAGE.read_text("utf-8")
    for name in pictures.WORLDS:
        assert f"(assets/worlds/{name}.png)" in page
    committed = {path.stem for path in pictures.FOLDER.glob("*.png")}
    assert committed == set(pictures.WORLDS)


def test_they_are_small_and_not_empty(drawn):
    for path in (drawn, pictures.FOLDER / drawn.name):
        assert path.stat().st_size < 10_000
        image = Image.open(path)
        assert max(image.size) <= pictures.LARGEST
        assert len(image.convert("RGB").getcolors()) > 2


def test_our_own_are_up_to_date(drawn):
    """The others are drawn by Gymnasium or OpenGL, which may differ by a shade."""
    if drawn.stem in DRAWN_HERE:
        files = (drawn, pictures.FOLDER / drawn.name)
        now, then = (np.asarray(Image.open(path).convert("RGB")) for path in files)
        assert np.array_equal(now, then), "run: python -m benchmarks pictures"
