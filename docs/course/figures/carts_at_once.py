"""Chapter 13's first figure: 1 024 carts that are stepped as one batch.

They are the library's own, and every frame is an answer of theirs to a step with random
actions: the states that are gone on from, and `final_obs` of those that ended.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import gymnasium
import torch
from torch import Tensor

import yieldrl.envs  # noqa: F401 (registers its worlds)

COUNT, COLUMNS = 1024, 32
STEPS = 100
SHOWN = [0, 4, 8, 10, 12, 14, 17, 20, 30, 50, 75, 100]
"""Steps that have a frame."""
STEEPER = 5
"""How many times as far as in the world poles lean in the figure."""
CAPTION = """\
Every stroke is the pole of one of 1 024 carts, leaning five times as far as it does.
Blue: began anew in this step. Red, in the same place: where its old episode ended, as
<code>final_obs</code> says. Below: how many episodes ended in each step."""
CELL, POLE = 15, 11  # pixels of a cart's place, and of a pole
LEFT, TOP = 10, 4  # of the field
FLOOR, HIGH, MOST = 580, 64, 80  # of the axis below: pixels, and episodes at its top


class Moment(NamedTuple):
    """What a step answered.

    Attributes:
        lean: Angles that everybody goes on from, `[N]`.
        ended: Whose episode ended in the step, bool `[N]`.
        final: Angles that everybody had come to, `[N]`.
        age: Steps that everybody's episode has had, `[N]`.
    """

    lean: Tensor
    ended: Tensor
    final: Tensor
    age: Tensor


def played() -> list[Moment]:
    """The first states, and what each of `STEPS` steps answered."""
    envs: Any = gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=COUNT)
    obs, _ = envs.reset(seed=13)
    generator = torch.Generator().manual_seed(13)
    nobody = torch.zeros(COUNT, dtype=torch.bool)
    moments = [Moment(obs[:, 2], nobody, obs[:, 2], envs.elapsed.clone())]
    for _ in range(STEPS):
        action = torch.randint(2, (COUNT,), generator=generator)
        obs, _, terminated, truncated, info = envs.step(action)
        final, age = info["final_obs"][:, 2], envs.elapsed.clone()
        moments.append(Moment(obs[:, 2], terminated | truncated, final, age))
    return moments


def figure() -> dict[str, Any]:
    """All frames: a step each."""
    moments = played()
    ends = [int(moment.ended.sum()) for moment in moments]
    shown = [frame(step, moments[step], ends) for step in SHOWN]
    start = SHOWN.index(12)
    return {
        "title": "1 024 carts, stepped as one batch",
        "caption": CAPTION,
        "size": (500, FLOOR + 42),
        "svg": drawing(ends, shown[start]),
        "controls": {"step": [str(step) for step in SHOWN]},
        "start": (start,),
        "parts": PARTS,
        "frames": shown,
    }


PARTS = [(".on", "d"), (".fresh", "d"), (".final", "d"), (".now", "d")]
PARTS += [(".says", "text")]


def frame(step: int, moment: Moment, ends: list[int]) -> list[Any]:
    """The values of `PARTS` after one step."""
    oldest, so_far = int(moment.age.max()), f"{sum(ends[: step + 1]):,}"
    said = (
        f"Step {step}: {ends[step]} of 1 024 episodes ended in it,"
        f" {so_far.replace(',', ' ')} so far. The oldest has had {oldest} steps."
    )
    ended = moment.ended
    return [
        poles(moment.lean, ~ended),
        poles(moment.lean, ended),
        poles(moment.final, ended),
        f"M{across(step)} {FLOOR - HIGH}V{FLOOR}",
        said,
    ]


def poles(lean: Tensor, shown: Tensor) -> str:
    """A stroke for each pole that is shown, each drawn from the one before it."""
    x = y = 0
    strokes = []
    for place in shown.nonzero().flatten().tolist():
        angle = max(-1.4, min(1.4, STEEPER * float(lean[place])))
        at = LEFT + CELL * (place % COLUMNS) + CELL // 2
        foot = TOP + CELL * (place // COLUMNS) + CELL - 1
        right, up = round(POLE * math.sin(angle)), round(POLE * math.cos(angle))
        # After z the pen is at the foot again, so that the way to the next is short.
        strokes.append(f"m{at - x} {foot - y}l{right}-{up}z")
        x, y = at, foot
    return "".join(strokes).replace(" -", "-")


def drawing(ends: list[int], first: list[Any]) -> str:
    """The field, and the axis below it."""
    on, fresh, final, now, _ = first
    looks = {"on ink": on, "final red": final, "fresh blue": fresh}
    lines = "".join(
        f'<path class="{look} line" style="stroke-width:{width}" d="{strokes}"/>'
        for (look, strokes), width in zip(looks.items(), (1, 2, 2), strict=True)
    )
    bars = "".join(
        f"M{across(step)} {FLOOR}V{up(count)}" for step, count in enumerate(ends)
    )
    marks = "".join(
        f'<text x="{across(step)}" y="{FLOOR + 16}" text-anchor="middle">{step}</text>'
        for step in range(0, STEPS + 1, 25)
    )
    heights = "".join(
        f'<path class="axis" d="M40 {up(count)}h-4"/><text x="33" y="{up(count) + 4}"'
        f' text-anchor="end">{count}</text>'
        for count in (0, MOST // 2, MOST)
    )
    return (
        f'{lines}<path class="axis" d="M40 {up(MOST)}V{FLOOR}H480"/>{marks}{heights}'
        f'<text x="255" y="{FLOOR + 32}" text-anchor="middle">step</text>'
        f'<text x="48" y="{up(MOST) - 5}">episodes that ended in it</text>'
        f'<path class="axis" d="{bars}"/>'
        f'<path class="now red line dashed" d="{now}"/>'
    )


def across(step: int) -> float:
    """Pixels of a step."""
    return round(44 + 430 * step / STEPS, 1)


def up(count: int) -> float:
    """Pixels of a number of episodes."""
    return round(FLOOR - HIGH * count / MOST, 1)
