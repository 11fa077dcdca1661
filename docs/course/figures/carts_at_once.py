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
from .drawing import Frame, Grid, Scale

COUNT, COLUMNS = 1024, 32
STEPS = 100
SHOWN = [0, 4, 8, 10, 12, 14, 17, 20, 30, 50, 75, 100]
"""Steps that have a frame."""
STEEPER = 5
"""How many times as far as in the world poles lean in the figure."""
GRID, POLE = Grid(COLUMNS, 15, 10, 4), 11  # carts' places and a pole, in pixels
FLOOR, CEILING = 580, 516  # of the axis below, in pixels
ACROSS, UP = Scale(0, STEPS, 44, 474), Scale(0, 80, FLOOR, CEILING)


class Moment(NamedTuple):
    """What a step answered, `[N]` each."""

    lean: Tensor  # angles that everybody goes on from
    ended: Tensor  # whose episode ended in the step
    final: Tensor  # angles that everybody had come to
    age: Tensor  # steps that everybody's episode has had


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

    def frame(step: int) -> Frame:
        moment, so_far = moments[step], f"{sum(ends[: step + 1]):,}".replace(",", " ")
        return {
            "on d": poles(moment.lean, ~moment.ended),
            "fresh d": poles(moment.lean, moment.ended),
            "final d": poles(moment.final, moment.ended),
            "now d": f"M{ACROSS(step)} {CEILING}V{FLOOR}",
            "says text": f"Step {step}: {ends[step]} of 1 024 episodes ended in it,"
            f" {so_far} so far. The oldest has had {int(moment.age.max())} steps.",
        }

    return svg.figure(
        size=(500, FLOOR + 42),
        svg=svg.drawn("carts_at_once", bars=bars),
        controls={"step": svg.labelled(SHOWN)},
        start=("12",),
        frame=frame,
    )


def poles(lean: Tensor, shown: Tensor) -> str:
    """A stroke for each pole that is shown, each drawn from the one before it."""
    x = y = 0
    strokes = []
    for place in shown.nonzero().flatten().tolist():
        angle = max(-1.4, min(1.4, STEEPER * float(lean[place])))
        at, foot = GRID.middle(place)[0], GRID.corner(place + COLUMNS)[1] - 1
        right, up = round(POLE * math.sin(angle)), round(POLE * math.cos(angle))
        # After z the pen is at the foot again, so that the way to the next is short.
        strokes.append(f"m{at - x} {foot - y}l{right}-{up}z")
        x, y = at, foot
    return "".join(strokes).replace(" -", "-")
