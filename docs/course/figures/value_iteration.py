"""Chapter 3's figure: what is known of the lake after each sweep of value iteration.

Numbers, shades and arrows are those of Bellman's optimality equation, applied that many
times to zeros. The last frame is the library's own `value_iteration`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yieldrl.envs import value_iteration

GAMMA = 0.99
SWEEPS = [*range(11), 12, 15, 20, 30, 50, 100, 200, 400]
"""Numbers of sweeps that are shown; after them, what an endless number gives."""
ICE = {"slippery": True, "firm": False}
HOLES, GOAL = (5, 7, 11, 12), 15
FIELDS = [state for state in range(16) if state not in (*HOLES, GOAL)]
"""Where something can be decided."""
CAPTION = """\
Each field's value after so many sweeps, from zeros, with a discount of 0.99; the bluer,
the more it is worth. Arrows: the actions that are best by these numbers, none where all
are equal. S is the start. Arriving at the goal pays 1."""
SIDE, LEFT, TOP = 78, 84, 8  # of a field, and of the lake's corner, in pixels


def figure() -> dict[str, Any]:
    """All frames: a number of sweeps and a kind of ice each."""
    lakes = [Lake(is_slippery) for is_slippery in ICE.values()]
    counts = [*SWEEPS, None]
    shown = [
        frame(lake, count, name)
        for count in counts
        for lake, name in zip(lakes, ICE, strict=True)
    ]
    start = (SWEEPS.index(4), list(ICE).index("slippery"))
    first = shown[start[0] * len(ICE) + start[1]]
    return {
        "title": "Value iteration on a frozen lake, sweep by sweep",
        "caption": CAPTION,
        "size": (480, 4 * SIDE + 2 * TOP),
        "svg": drawing(first),
        "controls": {"sweeps": [*map(str, SWEEPS), "∞"], "ice": list(ICE)},
        "start": start,
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".shade", "fill-opacity"), (".number", "text"), (".arrow", "d")]
PARTS += [(".says", "text")]


class Lake:
    """A frozen lake, and what every sweep makes of zeros.

    Attributes:
        values: After 0, 1, 2 ... sweeps, `[S]` each.
        best: The values and the action values in which the sweeps end.
    """

    def __init__(self, is_slippery: bool) -> None:
        lake = gymnasium.make("FrozenLake-v1", is_slippery=is_slippery)
        self.table = lake.unwrapped.P  # pyright: ignore
        self.values = [np.zeros(16)]
        for _ in range(SWEEPS[-1]):
            self.values.append(self.look_ahead(self.values[-1]).max(1))
        self.best = value_iteration(self.table, GAMMA)

    def look_ahead(self, value: np.ndarray) -> np.ndarray:
        """What each action is worth, `[S, A]`, if the next states are worth `value`."""
        q_value = np.zeros((16, 4))
        for state, actions in self.table.items():
            for action, outcomes in actions.items():
                for probability, after, reward, ended in outcomes:
                    future = 0.0 if ended else value[after]
                    q_value[state, action] += probability * (reward + GAMMA * future)
        return q_value

    def after(self, count: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Values `[S]`, and what is best by them `[S, A]`; None is the end."""
        value = self.best[0] if count is None else self.values[count]
        return value, best_actions(self.look_ahead(value))


def best_actions(q_value: np.ndarray) -> np.ndarray:
    """The largest of each row, ties too, beyond rounding: `[S, A]`."""
    return q_value > q_value.max(1, keepdims=True) - 1e-9


def frame(lake: Lake, count: int | None, ice: str) -> list[Any]:
    """The values of `PARTS` for one number of sweeps and one kind of ice."""
    value, best = lake.after(count)
    _, final = lake.after(None)
    right = sum(bool((best[s] == final[s]).all()) for s in FIELDS)
    sweeps = "infinitely many sweeps" if count is None else f"{count} sweeps"
    said = (
        f"{ice.capitalize()} ice, after {'1 sweep' if count == 1 else sweeps}: the"
        f" start is worth {value[0]:.3f}, and {right} of {len(FIELDS)} fields have"
        " their final arrows."
    )
    return [
        [round(0.55 * float(value[s]) ** 0.5, 3) for s in FIELDS],
        [f"{value[s]:.3f}" if value[s] > 0 else "0" for s in FIELDS],
        ["" if best[s].all() else "".join(arrows(s, best[s])) for s in FIELDS],
        said,
    ]


def drawing(first: list[Any]) -> str:
    """The lake and all parts, as a frame has them."""
    shades, numbers, paths, _ = first
    parts = []
    for state, shade, number, path in zip(FIELDS, shades, numbers, paths, strict=True):
        x, y = corner(state)
        parts.append(
            f'<rect class="shade" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}"'
            f' fill-opacity="{shade}"/><path class="arrow ink line" d="{path}"/>'
            f'<text class="number" x="{x + SIDE / 2:g}" y="{y + SIDE - 8}"'
            f' text-anchor="middle">{number}</text>'
        )
    for state in (*HOLES, GOAL):
        x, y = corner(state)
        parts.append(
            f'<text x="{x + SIDE / 2:g}" y="{y + SIDE / 2 + 4:g}"'
            f' text-anchor="middle">{"goal" if state == GOAL else "hole"}</text>'
        )
    parts.append(f'<text x="{LEFT + 6}" y="{TOP + 16}">S</text>')
    lines = "".join(
        f"M{LEFT} {TOP + SIDE * k}h{4 * SIDE}M{LEFT + SIDE * k} {TOP}v{4 * SIDE}"
        for k in range(5)
    )
    return f'{"".join(parts)}<path class="axis" d="{lines}"/>'


def arrows(state: int, chosen: np.ndarray) -> list[str]:
    """A path for each action that is chosen, from the middle of the field."""
    x, y = corner(state)
    x, y = x + SIDE // 2, y + SIDE // 2 - 6
    return [
        f"M{x} {y}{line}"
        for line, is_chosen in zip(LINES, chosen, strict=True)
        if is_chosen
    ]


LINES = (
    "h-22m6 -5l-6 5l6 5",
    "v22m-5 -6l5 6l5 -6",
    "h22m-6 -5l6 5l-6 5",
    "v-22m-5 6l5 -6l5 6",
)
"""Left, down, right and up, in Gymnasium's order."""


def corner(state: int) -> tuple[int, int]:
    """The upper left of a field, in pixels."""
    row, column = divmod(state, 4)
    return LEFT + SIDE * column, TOP + SIDE * row
