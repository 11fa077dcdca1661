"""Chapter 13's first figure: 1 024 carts that are stepped as one batch.

They are the library's own, and every frame is an answer of theirs to a step with random
actions: the states that are gone on from, and `final_obs` of those that ended.
"""

import math
from typing import Any, NamedTuple

import gymnasium
import torch
from torch import Tensor

import yieldrl.envs  # noqa: F401 (registers its worlds)

from . import drawing as svg
from .drawing import Frame, Scale

COUNT, COLUMNS = 1024, 32
STEPS = 100
SHOWN = [0, 4, 8, 10, 12, 14, 17, 20, 30, 50, 75, 100]
"""Steps that have a frame."""
STEEPER = 5
"""How many times as far as in the world poles lean in the figure."""
CELL, POLE = 15, 11  # pixels of a cart's place, and of a pole
LEFT, TOP = 10, 4  # of the field
FLOOR, CEILING = 580, 516  # of the axis below, in pixels
ACROSS, UP = Scale(0, STEPS, 44, 474), Scale(0, 80, FLOOR, CEILING)


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
    bars = "".join(f"M{ACROSS(t)} {FLOOR}V{UP(count)}" for t, count in enumerate(ends))
    return svg.figure(
        size=(500, FLOOR + 42),
        svg=svg.drawn("carts_at_once", bars=bars),
        controls={"step": svg.labelled(SHOWN)},
        start=("12",),
        frame=lambda step: frame(step, moments[step], ends),
    )


def frame(step: int, moment: Moment, ends: list[int]) -> Frame:
    """The carts after one step."""
    oldest, so_far = int(moment.age.max()), f"{sum(ends[: step + 1]):,}"
    ended = moment.ended
    return {
        "on d": poles(moment.lean, ~ended),
        "fresh d": poles(moment.lean, ended),
        "final d": poles(moment.final, ended),
        "now d": f"M{ACROSS(step)} {CEILING}V{FLOOR}",
        "says text": f"Step {step}: {ends[step]} of 1 024 episodes ended in it,"
        f" {so_far.replace(',', ' ')} so far. The oldest has had {oldest} steps.",
    }


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
