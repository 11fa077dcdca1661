"""Curves as SVG: well formed, inside their panels, whatever the numbers."""

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from yieldrl.loggers.svg import HEIGHT, WIDTH, draw_panels, short

SVG = "{http://www.w3.org/2000/svg}"


def parse(curves: Any) -> ElementTree.Element:
    return ElementTree.fromstring(draw_panels(curves))


def texts(root: ElementTree.Element) -> list[str | None]:
    return [element.text for element in root.iter(f"{SVG}text")]


def lines(root: ElementTree.Element) -> list[list[tuple[float, float]]]:
    found = []
    for line in root.iter(f"{SVG}polyline"):
        numbers = [float(x) for x in re.findall(r"[-\d.]+", line.get("points") or "")]
        found.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return found


def test_a_curve_fills_its_panel() -> None:
    root = parse({"train/loss": [(0, 1.0), (50, 3.0), (100, 2.0)]})
    assert (root.get("width"), root.get("height")) == (str(WIDTH), str(HEIGHT))
    assert lines(root) == [[(52.0, 152.0), (170.0, 38.0), (288.0, 95.0)]]
    axes = ["3", "1", "0", "environment steps", "100"]
    assert texts(root) == ["train/loss", *axes, "2"]


def test_panels_lie_side_by_side() -> None:
    root = parse({f"collect/{i}": [(0, i), (100 * i, 0.0)] for i in range(1, 6)})
    assert (root.get("width"), root.get("height")) == (str(3 * WIDTH), str(2 * HEIGHT))
    places = [group.get("transform") for group in root.iter(f"{SVG}g")]
    assert places[2:4] == [f"translate({2 * WIDTH},0)", f"translate(0,{HEIGHT})"]
    # All share the range of steps.
    assert [line[-1][0] for line in lines(root)] == [99.2, 146.4, 193.6, 240.8, 288.0]


@pytest.mark.parametrize("gap", [math.nan, math.inf, -math.inf, 1e300, -1e200])
def test_what_is_not_finite_is_a_gap(gap: float) -> None:
    root = parse({"a": [(0, 1), (1, 2), (2, gap), (3, 3), (4, gap), (5, 2), (6, 1)]})
    assert [len(line) for line in lines(root)] == [2, 2]
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert "nan" not in draw_panels({"a": [(0, 1), (1, gap)]})


@pytest.mark.parametrize("curve", [[], [(0, math.nan)], [(0, math.nan), (1, math.inf)]])
def test_nothing_to_draw(curve: Any) -> None:
    assert texts(parse({"a": curve})) == ["a", "nothing to draw yet"]
    assert texts(parse({})) == []


@pytest.mark.parametrize("value", [0.0, 5.0, -5.0, 1e-12, 1e99])
def test_a_flat_curve_lies_in_the_middle(value: float) -> None:
    (line,) = lines(parse({"a": [(0, value), (1, value)]}))
    assert [y for _, y in line] == [95.0, 95.0]


def test_one_point_is_a_dot() -> None:
    (dot,) = parse({"a": [(7, 2.0)]}).iter(f"{SVG}circle")
    assert (dot.get("cx"), dot.get("cy")) == ("52.0", "95.0")


def test_titles_are_escaped() -> None:
    assert texts(parse({'a<b>&"c"': []}))[0] == 'a<b>&"c"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.000123, "0.000123"),
        (-1.2345, "-1.23"),
        (195.25, "195.2"),
        (9999, "9999"),
        (12_345, "12.35k"),
        (-1_500_000, "-1.5M"),
        (2e9, "2G"),
        (1e50, "1e+41G"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short(value) == text
