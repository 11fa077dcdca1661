"""Chapter 6's figure: DQN's values with and without its two ideas.

Nothing is trained here: the lines are those of `docs/results/dqn-stability.json`,
which `benchmarks/figures/stability.py` has measured.
"""

from typing import Any

from . import drawing as svg
from .drawing import Frame, Scale

LOOKS = {
    "both": ("ink", "none", "with both"),
    "no target network": ("red", "2 4", "no target network"),
    "no replay": ("blue", "6 4", "no replay"),
    "neither": ("red", "9 3 2 3", "neither"),
}
"""What DQN had -> colour and dashes of its lines, and what the legend calls them."""
ACROSS = Scale(0, 10_000, 48, 460)
HIGH, LOW = Scale(0, 200, 184, 184 - 400 / 3), Scale(0, 120, 372, 232)


def figure() -> dict[str, Any]:
    """All frames: a seed each."""
    runs = svg.measured("dqn-stability")["runs"]
    return svg.figure(
        size=(480, 430),
        svg=drawing(),
        controls={"seed": {str(run["seed"]): run for run in runs}},
        start=(str(runs[0]["seed"]),),
        frame=frame,
    )


def frame(run: dict[str, Any]) -> Frame:
    """Both groups of lines, and what to say of them, for one seed."""
    numbers = run["numbers"]
    lines = {
        f"{state} d": [
            svg.through(run["series"][f"{name}, {state}"], ACROSS, up) for name in LOOKS
        ]
        for state, up in (("upright", HIGH), ("falling", LOW))
    }
    said = "; ".join(
        f"{name}: {numbers[f'upright, {name}']:.0f} and"
        f" {numbers[f'falling, {name}']:.0f}"
        for name in LOOKS
    )
    text = f"Highest upright, mean falling, after 5 000 steps: {said}."
    return {**lines, "says text": text}


def drawing() -> str:
    """Axes, lines, and what they are in a row below."""
    names = {0: "0", 5_000: "5 000", 7_500: "steps", 10_000: "10 000"}
    parts = [
        svg.x_axis(ACROSS, 184, names),
        svg.x_axis(ACROSS, 372, names),
        svg.y_axis(HIGH, 48, (0, 50, 100, 150, 200)),
        svg.y_axis(LOW, 48, (0, 40, 80, 120)),
        svg.line("axis", f"M48 {HIGH(100)}H460M48 {LOW(1)}H460"),
        svg.label(48, 14, "upright: what is it worth? 100 at most"),
        svg.label(48, 224, "falling: what is it worth? 1"),
    ]
    for state, top, bottom in (("upright", 24, 184), ("falling", 232, 372)):
        clip = svg.box("", 48, top, 412, bottom - top + 2)
        lines = "".join(
            svg.line(f"{state} {look} line", stroke_dasharray=dash)
            for look, dash, _ in LOOKS.values()
        )
        parts.append(svg.tag("clipPath", clip, id=f"{state}-values"))
        parts.append(svg.tag("g", lines, clip_path=f"url(#{state}-values)"))
    for (look, dash, name), x in zip(LOOKS.values(), (48, 152, 308, 410), strict=True):
        parts.append(svg.line(f"{look} line", f"M{x} 417h24", stroke_dasharray=dash))
        parts.append(svg.label(x + 29, 421, name))
    return "".join(parts)
