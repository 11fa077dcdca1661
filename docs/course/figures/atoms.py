"""Chapter 7's figure: how C51's target moves a distribution and puts it on the atoms.

The distribution is that of the returns from the field beside the goal of the frozen
lake, under its best policy and on eleven atoms: where C51's target comes to rest when
it is applied to the lake's table. Every share is the library's own `project`.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.envs import value_iteration
from yieldrl.functional import project

from . import drawing as svg
from .drawing import Frame
from .frozen_lake import thirds, transitions

ATOMS = torch.linspace(0, 1, 11, dtype=torch.float64)
FIELD, DISCOUNT, SWEEPS = 14, 0.9, 200  # of the distribution that is moved
REWARDS = [round(-0.5 + 0.1 * k, 1) + 0.0 for k in range(16)]
GAMMAS = [0.5, 0.9, 1.0]
ENDS = {"goes on": False, "ends": True}
"""What the episode does -> `terminated`."""
LEFT, UNIT = 112, 176  # of the return 0, and of a return of 1, in pixels
UPPER, MIDDLE, LOWER = 72, 222, 384  # baselines
HIGH = 120  # of the probability 1


def figure() -> dict[str, Any]:
    """All frames: a reward, a discount and whether the episode ended each."""
    z = following()
    sticks = (stick(a, UPPER, p) for a, p in zip(ATOMS, z, strict=True))
    source = "".join(svg.line("ink line wide", d) for d in sticks)
    return svg.figure(
        size=(480, 424),
        svg=svg.drawn("atoms", source=source, mean=triangle(z @ ATOMS, UPPER)),
        controls={
            "reward": svg.labelled(REWARDS, ".1f"),
            "discount": svg.labelled(GAMMAS, "g"),
            "the episode": ENDS,
        },
        start=("0.0", "0.9", "goes on"),
        frame=frame,
    )


@cache
def following() -> Tensor:
    """Probabilities of the returns from the field, `[K]`."""
    table = transitions()
    best = value_iteration(table, DISCOUNT)[1].argmax(1)
    after, reward, ended = (
        torch.from_numpy(of[np.arange(16), best].flatten()) for of in thirds(table)
    )
    returns = reward[:, None] + DISCOUNT * ~ended[:, None] * ATOMS
    z = torch.eye(len(ATOMS), dtype=torch.float64)[0].repeat(16, 1)
    for _ in range(SWEEPS):
        z = project(z[after], returns, ATOMS).view(16, 3, -1).mean(1)
    return z[FIELD]


def moved(reward: float, gamma: float, ended: bool) -> Tensor:
    """Where each atom is moved to, `[K]`."""
    return reward + gamma * (not ended) * ATOMS


def target(probability: Tensor, reward: float, gamma: float, ended: bool) -> Tensor:
    """Distributions on the atoms `[..., K]`, moved and shared."""
    rows = probability.reshape(-1, len(ATOMS))
    places = moved(reward, gamma, ended).expand_as(rows)
    return project(rows, places, ATOMS).view_as(probability)


def frame(reward: float, gamma: float, ended: bool) -> Frame:
    """One choice."""
    choice, z = (reward, gamma, ended), following()
    places, on_atoms = moved(*choice), target(z, *choice)
    # At an end all lie on one another: the first is as high as all of them.
    heights = torch.eye(len(ATOMS))[0] if ended else z
    # How much of each moved atom goes to the atoms that get most of it.
    largest = target(torch.eye(len(ATOMS), dtype=z.dtype), *choice).topk(2)
    factor = "" if gamma == 1 else f"{gamma:g} "
    said = (
        f"Each z goes to {reward:.1f}{'' if ended else f' + {factor}z'}. DQN's target"
        f" {places @ z:.2f}, mean of the bars {on_atoms @ ATOMS:.2f}"
    )
    beyond = z[(places < -1e-9) | (places > 1 + 1e-9)].sum()
    if beyond > 0.001:
        said += f": a share of {beyond:.2f} lies beyond the atoms"
    return {
        "thread d": [
            f"M{across(a)} {UPPER + 2}L{across(x)} {round(MIDDLE - HIGH * float(h))}"
            for a, x, h in zip(ATOMS, places, heights, strict=True)
        ],
        "moved d": [stick(x, MIDDLE, h) for x, h in zip(places, heights, strict=True)],
        "link d": [
            f"M{across(x)} {MIDDLE + 4}L{across(ATOMS[i])} {MIDDLE + 40}"
            for x, two in zip(places, largest.indices, strict=True)
            for i in two
        ],
        "link stroke-opacity": [
            round(float(share), 1) for share in largest.values.flatten()
        ],
        "bar d": [stick(a, LOWER, p) for a, p in zip(ATOMS, on_atoms, strict=True)],
        "now d": f"M{across(places @ z)} {MIDDLE - HIGH}V{LOWER}",
        "mean d": triangle(on_atoms @ ATOMS, LOWER),
        "says text": svg.minus(f"{said}."),
    }


def stick(place: Tensor, base: int, probability: Tensor) -> str:
    """A bar of a probability."""
    return f"M{across(place)} {base}v-{round(HIGH * float(probability), 1):g}"


def triangle(place: Tensor, base: int) -> str:
    """A mark below a baseline."""
    return f"M{across(place)} {base + 2}l-5 9h10z"


def across(x: Tensor | float) -> int:
    """Pixels of a return."""
    return round(LEFT + UNIT * float(x))
