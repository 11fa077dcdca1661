"""The pictures of the worlds are the ones that the worlds draw."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from yieldrl.benchmarks import pictures

PAGE = Path(__file__).parents[2] / "docs" / "worlds.md"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return list(pictures.draw_all(tmp_path_factory.mktemp("worlds")))


def test_every_picture_is_committed_and_shown(drawn):
    page = PAGE.read_text("utf-8")
    for path in drawn:
        assert f"(assets/worlds/{path.name})" in page
    committed = {path.name for path in pictures.FOLDER.glob("*.png")}
    assert committed == {path.name for path in drawn}


def test_they_are_small_and_not_empty(drawn):
    for path in drawn:
        assert path.stat().st_size < 10_000
        image = Image.open(path)
        assert max(image.size) <= pictures.LARGEST
        assert len(image.convert("RGB").getcolors()) > 2


@pytest.mark.parametrize("name", ["t_maze", "go_to"])
def test_our_own_are_up_to_date(drawn, name):
    """The others are drawn by Gymnasium, whose versions may differ by a shade."""
    (now,) = (path for path in drawn if path.stem == name)
    committed = pictures.FOLDER / f"{name}.png"
    pixels = [np.asarray(Image.open(path).convert("RGB")) for path in (now, committed)]
    assert np.array_equal(*pixels), "run: python -m benchmarks pictures"
