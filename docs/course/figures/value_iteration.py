"""Chapter 3's figure: what is known of the lake after each sweep of value iteration.

Numbers, shades and arrows are those of Bellman's optimality equation, applied that many
times to zeros. The last frame is the library's own `value_iteration`.
"""

from typing import Any

import numpy as np

from yieldrl.envs import value_iteration

from . import drawing as svg
from .drawing import Frame, Grid
from .frozen_lake import GAMMA, LAKE, thirds, transitions

SWEEPS = [*range(11), 12, 15, 20, 30, 50, 100, 200, 400]
"""Numbers of sweeps that are shown; after them, what an endless number gives."""
ICE = {"slippery": True, "firm": False}
FIELDS = [state for state, kind in enumerate(LAKE) if kind in "SF"]
"""Where something can be decided."""
GRID = Grid(4, 78, 84, 8)  # as drawn


def figure() -> dict[str, Any]:
    """All frames: a number of sweeps and a kind of ice each."""
    lakes = {name: (name, Lake(is_slippery)) for name, is_slippery in ICE.items()}
    return svg.figure(
        size=(480, 328),
        svg=svg.drawn("value_iteration"),
        controls={"sweeps": {**svg.labelled(SWEEPS), "∞": None}, "ice": lakes},
        start=("4", "slippery"),
        frame=lambda count, ice: frame(count, *ice),
    )


class Lake:
    """A frozen lake, and what every sweep makes of zeros.

    Attributes:
        values: After 0, 1, 2 ... sweeps, `[S]` each.
        best: The values and the action values in which the sweeps end.
    """

    def __init__(self, is_slippery: bool) -> None:
        table = transitions(is_slippery=is_slippery)
        self.outcomes = thirds(table)
        self.values = [np.zeros(16)]
        for _ in range(SWEEPS[-1]):
            self.values.append(self.look_ahead(self.values[-1]).max(1))
        self.best = value_iteration(table, GAMMA)

    def look_ahead(self, value: np.ndarray) -> np.ndarray:
        """What each action is worth, `[S, A]`, if the next states are worth `value`."""
        after, reward, ended = self.outcomes
        return (reward + GAMMA * value[after] * ~ended).mean(2)

    def after(self, count: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Values `[S]`, and what is best by them `[S, A]`; None is the end."""
        value = self.best[0] if count is None else self.values[count]
        q_value = self.look_ahead(value)
        return value, q_value > q_value.max(1, keepdims=True) - 1e-9  # ties, too


def frame(count: int | None, ice: str, lake: Lake) -> Frame:
    """One number of sweeps and one kind of ice."""
    value, best = lake.after(count)
    _, final = lake.after(None)
    right = sum(bool((best[s] == final[s]).all()) for s in FIELDS)
    sweeps = "infinitely many sweeps" if count is None else f"{count} sweeps"
    said = (
        f"{ice.capitalize()} ice, after {'1 sweep' if count == 1 else sweeps}: the"
        f" start is worth {value[0]:.3f}, and {right} of {len(FIELDS)} fields have"
        " their final arrows."
    )
    fields = svg.each(
        {
            "shade fill-opacity": round(0.55 * float(value[s]) ** 0.5, 3),
            "number text": f"{value[s]:.3f}" if value[s] > 0 else "0",
            "arrow d": "" if best[s].all() else arrows(s, best[s]),
        }
        for s in FIELDS
    )
    return {**fields, "says text": said}


def arrows(state: int, chosen: np.ndarray) -> str:
    """A path for each action that is chosen, from the middle of the field."""
    x, y = GRID.middle(state)
    pairs = zip(LINES, chosen, strict=True)
    return "".join(f"M{x} {y - 6}{path}" for path, is_chosen in pairs if is_chosen)


LINES = (
    "h-22m6 -5l-6 5l6 5",
    "v22m-5 -6l5 6l5 -6",
    "h22m-6 -5l6 5l-6 5",
    "v-22m-5 6l5 -6l5 6",
)
"""Left, down, right and up, in Gymnasium's order."""
