"""How the figures of the course are drawn: scales, lines, texts and frames.

What no number decides, as axes and their names, is an SVG beside a figure's code.

Looks such as `red line dashed` are classes of `docs/assets/course/course.css`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

Frame = dict[str, Any]
"""`"name attribute"` -> what it is in all elements of the class `name`: one value, or
one for each of them. The attribute `text` is an element's text."""


def measured(name: str) -> dict[str, Any]:
    """A committed result of `docs/results`."""
    path = Path(__file__).parents[2] / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def drawn(name: str, **computed: Any) -> str:
    """What `name.svg` in this folder draws, with what is computed where it asks."""
    text = Path(__file__).with_name(f"{name}.svg").read_text("utf-8")
    return "".join(text.splitlines()[1:-1]).format(**computed)


class Scale(NamedTuple):
    """Values from `low` to `high` are pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: Any) -> float:
        """Pixels of a value."""
        share = (float(value) - self.low) / (self.high - self.low)
        return round(self.begin + (self.end - self.begin) * share, 1)


class Grid(NamedTuple):
    """Square fields, row after row; sizes in pixels."""

    columns: int
    side: int
    left: int
    top: int

    def corner(self, field: int) -> tuple[int, int]:
        """The upper left of a field."""
        row, column = divmod(field, self.columns)
        return self.left + self.side * column, self.top + self.side * row

    def middle(self, field: int) -> tuple[int, int]:
        """The middle of a field."""
        x, y = self.corner(field)
        return x + self.side // 2, y + self.side // 2

    def square(self, field: int, inset: int) -> str:
        """The border of a field, so many pixels inside of it."""
        (x, y), side = self.corner(field), self.side - 2 * inset
        return f"M{x + inset} {y + inset}h{side}v{side}h-{side}z"


def figure(
    size: tuple[int, int],
    svg: str,
    controls: Mapping[str, Mapping[str, Any]],
    start: tuple[str, ...],
    frame: Callable[..., Frame],
) -> dict[str, Any]:
    """A figure with a frame for every choice, as `docs/_site/course.py` shows it.

    Args:
        size: Width and height in pixels.
        svg: What is drawn, with an element for every value of a frame.
        controls: Name -> labels and values of a control.
        start: The labels that are chosen first.
        frame: Makes a frame of a value from each control.
    """
    labels = {name: list(values) for name, values in controls.items()}
    choices = product(*(values.values() for values in controls.values()))
    shown = [frame(*choice) for choice in choices]
    first = shown[[*product(*labels.values())].index(start)]
    return {
        "size": size,
        "svg": filled(svg, first),
        "says": first["says text"],
        "controls": labels,
        "start": [*map(list.index, labels.values(), start)],
        "parts": [(f".{name}", of) for name, of in map(str.split, first)],
        "frames": [[*values.values()] for values in shown],
    }


def filled(svg: str, frame: Frame) -> str:
    """A drawing with the values of a frame, as `frames.js` sets them."""
    root = ElementTree.fromstring(f"<svg>{svg}</svg>")
    for part, values in frame.items():
        name, attribute = part.split()
        found = [e for e in root.iter() if name in e.get("class", "").split()]
        for i, element in enumerate(found):
            element.set(
                attribute, str(values[i] if isinstance(values, list) else values)
            )
            if attribute == "text":
                element.text = element.attrib.pop("text")
    return "".join(ElementTree.tostring(e, encoding="unicode") for e in root)


def each(frames: Iterable[Frame]) -> Frame:
    """One frame of several elements' frames: a list of values for every part."""
    of = list(frames)
    return {part: [frame[part] for frame in of] for part in of[0]}


def visible(shown: Iterable[Any]) -> list[str]:
    """The attribute `visibility` of elements of which some are shown."""
    return ["visible" if is_shown else "hidden" for is_shown in shown]


def labelled(values: Iterable[Any], spec: str = "") -> dict[str, Any]:
    """Labels of a control's values, in a format, with real minus signs."""
    return {minus(f"{value:{spec}}"): value for value in values}


def minus(text: str) -> str:
    """A text whose hyphens are minus signs."""
    return text.replace("-", "\N{MINUS SIGN}")


def signed(number: float, spec: str) -> str:
    """A number in a format with its sign, none before a zero."""
    text = f"{number:+{spec}}"
    return minus(text if float(text) else text[1:])


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """An element of an SVG; attributes that are an empty text are left out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{value}"'
        for key, value in attributes.items()
        if value != ""
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def line(look: str, d: str = "", **more: Any) -> str:
    """A path."""
    return tag("path", class_=look, d=d, **more)


def label(x: Any, y: Any, words: str = "", anchor: str = "", **more: Any) -> str:
    """A text; `anchor` is `middle` or `end`."""
    return tag("text", words, x=x, y=y, text_anchor=anchor, **more)


def dot(look: str, x: Any = "", y: Any = "", r: float = 3.2, **more: Any) -> str:
    """A circle."""
    return tag("circle", class_=look, cx=x, cy=y, r=r, **more)


def box(look: str, x: Any, y: Any, width: Any, height: Any, **more: Any) -> str:
    """A rectangle."""
    size = {"x": x, "y": y, "width": width, "height": height}
    return tag("rect", class_=look, **size, **more)


def joined(points: Iterable[tuple[Any, Any]]) -> str:
    """The line of a path through points in pixels."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


def curve(xs: Iterable[Any], ys: Iterable[Any], x: Scale, y: Scale) -> str:
    """The line of a path through values."""
    return joined((x(a), y(b)) for a, b in zip(xs, ys, strict=True))


def curves(
    looks: Iterable[str], xs: Sequence[Any], rows: Iterable[Any], x: Scale, y: Scale
) -> str:
    """Lines through several rows of values, each with a look of its own."""
    return "".join(
        line(f"{look} line", curve(xs, ys, x, y))
        for look, ys in zip(looks, rows, strict=True)
    )
