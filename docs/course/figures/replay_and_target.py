"""Chapter 6's figure: DQN's values with and without its two ideas.

Nothing is trained here: the lines are those of `benchmarks/results/dqn-stability.json`,
which `benchmarks/stability.py` has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yieldrl.benchmarks import results

LOOKS = {
    "both": ("ink", "none", "with both"),
    "no target network": ("red", "2 4", "no target network"),
    "no replay": ("blue", "6 4", "no replay"),
    "neither": ("red", "9 3 2 3", "neither"),
}
"""What DQN had -> colour and dashes of its lines, and what the legend calls them."""
STEPS = 10_000
HIGHEST, FALLEN = 240, 120  # on the upper axis and on the lower
LEFT, RIGHT = 48, 460  # of both axes, in pixels
CAPTION = """\
DQN on CartPole, discount 0.99, the same run with four settings. Above: what it says the
upright pole is worth; horizontal: the most that is possible. Below: what it says of a
pole that falls with the next step, whatever is done; horizontal: the truth. Lines may
leave the picture; how far, stands underneath."""


def figure() -> dict[str, Any]:
    """All frames: a seed each."""
    runs = results.load(results.FOLDER / "dqn-stability.json")["runs"]
    shown = [frame(run) for run in runs]
    return {
        "title": "DQN's values without a target network and without replay",
        "caption": CAPTION,
        "size": (480, 430),
        "svg": drawing(shown[0]),
        "controls": {"seed": [str(run["seed"]) for run in runs]},
        "start": (0,),
        "parts": [(".upright", "d"), (".falling", "d"), (".says", "text")],
        "frames": shown,
    }


def frame(run: dict[str, Any]) -> list[Any]:
    """Both groups of lines, and what to say of them, for one seed."""
    series, numbers = run["series"], run["numbers"]
    lines = [
        [path(series[f"{name}, {state}"], place) for name in LOOKS]
        for state, place in (("upright", high), ("falling", low))
    ]
    said = "; ".join(
        f"{name}: {numbers[f'upright, {name}']:.0f} and"
        f" {numbers[f'falling, {name}']:.0f}"
        for name in LOOKS
    )
    return [*lines, f"Highest upright, mean falling, after 5 000 steps: {said}."]


def drawing(first: list[Any]) -> str:
    """Axes, and all lines as the first frame has them."""
    upright, falling, _ = first
    width = RIGHT - LEFT
    clips = "".join(
        f'<clipPath id="{state}-values"><rect x="{LEFT}" y="{top}" width="{width}"'
        f' height="{bottom - top + 2}"/></clipPath>'
        for state, top, bottom in (("upright", 24, 184), ("falling", 232, 372))
    )
    groups = "".join(
        f'<g clip-path="url(#{state}-values)">{drawn(lines, state)}</g>'
        for state, lines in (("upright", upright), ("falling", falling))
    )
    bound = high(100)
    return (
        f"{clips}{axis(184)}{axis(372)}{heights([0, 50, 100, 150, 200], high)}"
        f"{heights([0, 40, 80, 120], low)}"
        f'<path class="axis" d="M{LEFT} {bound}H{RIGHT}M{LEFT} {low(1)}H{RIGHT}"/>'
        f'<text x="{LEFT}" y="14">upright: what is it worth? 100 at most</text>'
        f'<text x="{LEFT}" y="224">falling: what is it worth? 1</text>'
        f"{groups}{legend()}"
    )


def drawn(lines: Sequence[str], state: str) -> str:
    """The lines of one state."""
    return "".join(
        f'<path class="{state} {colour} line" stroke-dasharray="{dash}" d="{line}"/>'
        for (colour, dash, _), line in zip(LOOKS.values(), lines, strict=True)
    )


def legend() -> str:
    """What the lines are, in a row below."""
    places = zip(LOOKS.values(), (48, 152, 308, 410), strict=True)
    return "".join(
        f'<path class="{colour} line" stroke-dasharray="{dash}" d="M{x} 417h24"/>'
        f'<text x="{x + 29}" y="421">{name}</text>'
        for (colour, dash, name), x in places
    )


def axis(y: int) -> str:
    """A horizontal axis of environment steps, with its name between the marks."""
    marks = "".join(
        f'<path class="axis" d="M{across(step)} {y}v4"/>'
        f'<text x="{across(step)}" y="{y + 16}" text-anchor="middle">{words}</text>'
        for step, words in ((0, "0"), (5_000, "5 000"), (10_000, "10 000"))
    )
    name = f'<text x="{across(7_500)}" y="{y + 16}" text-anchor="middle">steps</text>'
    return f'<path class="axis" d="M{LEFT} {y}H{RIGHT}"/>{marks}{name}'


def heights(marks: list[int], place: Callable[[float], float]) -> str:
    """A vertical axis."""
    drawn = "".join(
        f'<path class="axis" d="M{LEFT} {place(y)}h-4"/>'
        f'<text x="{LEFT - 7}" y="{place(y) + 4}" text-anchor="end">{y}</text>'
        for y in marks
    )
    return f'<path class="axis" d="M{LEFT} {place(0)}V{place(max(marks))}"/>{drawn}'


def path(points: list[list[float]], place: Callable[[float], float]) -> str:
    """A line through the values."""
    return "M" + "L".join(f"{across(step)} {place(value)}" for step, value in points)


def across(step: float) -> float:
    """Pixels of a step."""
    return round(LEFT + (RIGHT - LEFT) * step / STEPS, 1)


def high(value: float) -> float:
    """Pixels of a value on the upper axis."""
    return round(184 - 160 * value / HIGHEST, 1)


def low(value: float) -> float:
    """Pixels of a value on the lower axis."""
    return round(372 - 140 * value / FALLEN, 1)
