"""For how many steps a latent model, fitted to games of MinAtar's Breakout, foresees
the ball, the paddle and the wall, under the actions of games that it has not seen.

Nobody learns to play: a script follows the ball, and a latent model learns from its
games what they look like.
"""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.benchmarks import breakout, figure
from yieldrl.benchmarks.style import COLORS

SAYS = figure.said("imagination-film", __doc__)
NUM_ENVS, AFTER, SEEN, AHEAD = 256, 60, 8, 30
THINGS = "ball", "paddle", "wall"


def measure(seed: int, steps: int = 5_000) -> dict[str, Any]:
    """Fit a model, and look at what it foresees in games that it has not seen."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    shown = breakout.played(64, 800, seed, generator)
    world = breakout.fitted(shown, generator, steps)
    length = AFTER + SEEN + AHEAD
    games = breakout.played(NUM_ENVS, length, 10_000 + seed, generator)[AFTER:]
    return {"seed": seed, **compared(games, breakout.foreseen(world, games, SEEN))}


def compared(games: TensorDict, imagined: Tensor) -> dict[str, Any]:
    """Number of steps ahead -> the share of games in which each of `THINGS` is right,
    of those that went on so long; `film` are the boards of one that goes on."""
    real = games["obs"].float()
    ball, paddle = (
        breakout.where(imagined, of) == breakout.where(real, of)
        for of in (breakout.BALL, breakout.PADDLE)
    )
    wall = ((imagined > breakout.SURE) == (real > breakout.SURE))[..., breakout.BRICK]
    rights = ball, paddle, wall.flatten(2).all(2)
    ended = games["terminated"].cumsum(0) > 0
    lives = torch.cat([torch.ones_like(ended[:1]), ~ended[:-1]])
    run: dict[str, Any] = {
        thing: {
            f"{ahead}": round(float(right[t][lives[t]].float().mean()), 3)
            for ahead, t in enumerate(range(SEEN, len(real)), 1)
        }
        for thing, right in zip(THINGS, rights, strict=True)
    }
    shown = int(lives[-1].long().argmax())
    sides = {"real": real, "imagined": imagined}
    run["film"] = {
        name: [*map(breakout.drawn, of[:, shown])] for name, of in sides.items()
    }
    return run


def table(runs: figure.Runs) -> figure.Table:
    steps, of = ("1", "5", "15", "30"), runs[0]
    rows = [[thing, *(f"{of[thing][step]:.2f}" for step in steps)] for thing in THINGS]
    return ["what is foreseen, so many steps ahead", *steps], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    for color, thing in zip(COLORS, THINGS, strict=False):
        steps, shares = zip(*runs[0][thing].items(), strict=True)
        axes.plot([*map(int, steps)], shares, color=color, label=thing)
    axes.set(xlabel="steps since the model last saw the board", ylim=(0, 1))
    axes.set(ylabel="share of games in which it is right")


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw)
