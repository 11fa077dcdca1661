"""How the figures of the course are drawn: scales, axes, lines, texts and frames.

Looks such as `red line dashed` are classes of `docs/assets/course/course.css`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

Marks = Iterable[float] | Mapping[float, str]
"""Marks of an axis, or marks and their labels."""
Frame = dict[str, Any]
"""`"name attribute"` -> what it is in all elements of the class `name`: one value, or
one for each of them. The attribute `text` is an element's text."""


def measured(name: str) -> dict[str, Any]:
    """A committed result of `docs/results`."""
    path = Path(__file__).parents[2] / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def drawn(name: str) -> str:
    """What `name.svg` in this folder draws."""
    text = Path(__file__).with_name(f"{name}.svg").read_text("utf-8")
    return "".join(text.splitlines()[1:-1])


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
    shown = [
        frame(*choice) for choice in product(*(c.values() for c in controls.values()))
    ]
    labels = {name: list(values) for name, values in controls.items()}
    at = [*product(*labels.values())].index(start)
    return {
        "size": size,
        "svg": filled(svg, shown[at]),
        "controls": labels,
        "start": tuple(
            of.index(label) for of, label in zip(labels.values(), start, strict=True)
        ),
        "parts": [(f".{name}", of) for name, of in map(str.split, shown[0])],
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


def parts(*elements: str) -> str:
    """Several elements, each above those before it."""
    return "".join(elements)


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


def lines(*looks: str) -> str:
    """Paths that frames draw, of several looks."""
    return "".join(map(line, looks))


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
    return through(zip(xs, ys, strict=True), x, y)


def through(points: Iterable[Sequence[Any]], x: Scale, y: Scale) -> str:
    """The line of a path through pairs of values."""
    return joined((x(a), y(b)) for a, b in points)


def _named(marks: Marks) -> dict[float, str]:
    named = (
        marks.items() if isinstance(marks, Mapping) else ((m, f"{m:g}") for m in marks)
    )
    return {mark: minus(name) for mark, name in named}


def x_axis(scale: Scale, y: float, marks: Marks, name: str = "") -> str:
    """A horizontal axis with labels below its marks and a name below them."""
    ticks = "".join(
        line("axis", f"M{scale(mark)} {y}v4")
        + label(scale(mark), y + 16, text, "middle")
        for mark, text in _named(marks).items()
    )
    middle = (scale.begin + scale.end) / 2
    ticks += label(f"{middle:g}", y + 32, name, "middle") if name else ""
    return line("axis", f"M{scale.begin} {y}H{scale.end}") + ticks


def y_axis(scale: Scale, x: float, marks: Marks, name: str = "") -> str:
    """A vertical axis with labels left of its marks, and a name at its top."""
    ticks = "".join(
        line("axis", f"M{x} {scale(mark)}h-4")
        + label(x - 7, f"{scale(mark) + 4:g}", text, "end")
        for mark, text in _named(marks).items()
    )
    ticks += label(x + 8, f"{scale.end - 6:g}", name) if name else ""
    return line("axis", f"M{x} {scale.begin}V{scale.end}") + ticks


def legend(y: float, looks: Mapping[str, str], xs: Iterable[float]) -> str:
    """Looks of lines and what they are, side by side."""
    return "".join(
        line(f"{look} line", f"M{x} {y - 4}h26") + label(x + 32, y, name)
        for x, (look, name) in zip(xs, looks.items(), strict=True)
    )
