"""MinAtar's Breakout as a model of the world imagines it, and for how long it is right.

Nobody learns to play: a script follows the ball, and a latent model learns from its
games what they look like.
"""

import time
from typing import Any

import gymnasium
import torch
from tensordict import TensorDict
from torch import Generator, Tensor

import yieldrl.envs
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Runs, Table, Trial
from yieldrl.imagination import LatentConfig, LatentModel

from .breakout import BALL, board, paint, where

GAMES: dict[str, Any] = {"num_envs": 64, "steps": 800, "random": 0.1}
MODEL: dict[str, Any] = {
    "config": {"memory_size": 256, "groups": 16, "classes": 8, "free_nats": 1.0},
    "learning_rate": 0.001,
    "max_grad_norm": 100.0,
    "batch_size": 16,
    "steps": 5_000,
}
LOOK = {"num_envs": 256, "after": 60, "seen": 8, "ahead": 30}
PADDLE, BRICK = 0, 3  # their channels
THINGS = "ball", "paddle", "wall"
FAINT, SURE = 0.1, 0.5
"""From what on a cell is drawn thinly, and from what on as if there were no doubt."""


def train(seed: int) -> dict[str, Any]:
    """Fit a model, and look at what it foresees in games that it has not seen.

    Number of steps ahead -> the share of games in which each of `THINGS` is right then,
    of those that went on so long; `film` are the boards of one that goes on to the end.
    """
    torch.set_num_threads(1)
    begin = time.process_time()
    generator = Generator().manual_seed(seed)
    torch.manual_seed(seed)
    data = games(GAMES["num_envs"], GAMES["steps"], seed, generator)
    world = fitted(data, generator)
    seconds = round(time.process_time() - begin, 1)
    fresh = games(LOOK["num_envs"], LOOK["after"] + length(), 10_000 + seed, generator)
    return {"seed": seed, "cpu_seconds": seconds, **looked(world, fresh[-length() :])}


def length() -> int:
    """Boards of a film."""
    return LOOK["seen"] + LOOK["ahead"]


def games(num_envs: int, steps: int, seed: int, generator: Generator) -> TensorDict:
    """Steps in a row `[T, N]` of a script that follows the ball, and errs at times."""
    envs = make(num_envs)
    obs, _ = envs.reset(seed=seed)
    first, rows = torch.ones(num_envs, dtype=torch.bool), []
    for _ in range(steps):
        action = follow(obs, generator)
        row = {"obs": obs.clone(), "action": action, "first": first}
        obs, reward, terminated, truncated, _ = envs.step(action)
        first = terminated | truncated
        row |= {"reward": reward.clone(), "terminated": terminated.clone()}
        rows.append(TensorDict(row, [num_envs]))
    stacked: Any = torch.stack(rows)
    return stacked


def make(num_envs: int) -> Any:
    """The world, whose ids are there once `yieldrl.envs` is imported."""
    assert yieldrl.envs
    return gymnasium.make_vec("yieldrl/MinAtar-Breakout-v1", num_envs=num_envs)


def follow(obs: Tensor, generator: Generator) -> Tensor:
    """Left, right or nothing `[N]`, after the ball; at random now and then."""
    ball, paddle = (where(obs.float(), channel) % 10 for channel in (BALL, PADDLE))
    action = torch.where(ball < paddle, 1, torch.where(ball > paddle, 2, 0))
    chance = torch.rand(len(obs), generator=generator) < GAMES["random"]
    return torch.where(
        chance, torch.randint(3, (len(obs),), generator=generator), action
    )


def fitted(data: TensorDict, generator: Generator) -> LatentModel:
    """A model that has learned from sequences of the games."""
    envs, config = make(1), LatentConfig(**MODEL["config"])
    world = LatentModel(envs.single_observation_space, envs.single_action_space, config)
    world.outcome.fit_to(data["reward"].flatten(), data["terminated"].flatten())
    rate, norm = MODEL["learning_rate"], MODEL["max_grad_norm"]
    optimizer = torch.optim.Adam(world.parameters(), lr=rate, fused=True)
    size = config.sequence_length, MODEL["batch_size"]
    along = torch.arange(size[0]).unsqueeze(1)
    for _ in range(MODEL["steps"]):
        begin = torch.randint(len(data) - size[0] + 1, size[1:], generator=generator)
        env = torch.randint(data.shape[1], size[1:], generator=generator)
        batch = data[begin + along, env.expand(size)]
        batch["memory"] = torch.zeros(*size, config.memory_size)
        optimizer.zero_grad()
        world.loss(batch, generator)[0].backward()
        torch.nn.utils.clip_grad_norm_(world.parameters(), norm)
        optimizer.step()
    return world


def looked(world: LatentModel, data: TensorDict) -> dict[str, Any]:
    """What is right of what is foreseen, and the film."""
    obs, seen = data["obs"].float(), LOOK["seen"]
    painted = torch.stack(paint(world, data["obs"], data["action"], seen))

    def at(channel: int) -> Tensor:
        places = (
            where(x.flatten(0, 1), channel).view(x.shape[:2]) for x in (painted, obs)
        )
        return torch.eq(*places)

    ended = data["terminated"].long().cumsum(0)
    lives = torch.cat([torch.ones_like(ended[:1]), (ended[:-1] == 0).long()]).bool()
    wall = ((painted > SURE) == (obs > SURE))[..., BRICK].flatten(2).all(2)
    right = dict(zip(THINGS, (at(BALL), at(PADDLE), wall), strict=True))
    shares = {
        name: {
            str(t + 1 - seen): round(float(rows[t][lives[t]].float().mean()), 3)
            for t in range(seen, length())
        }
        for name, rows in right.items()
    }
    shown = int(lives[-1].long().argmax())
    film = {
        "real": [board(row[shown]) for row in obs],
        "imagined": [thinly(row[shown]) for row in painted],
    }
    return {**shares, "games": int(lives[-1].sum()), "film": film}


def thinly(cells: Tensor) -> str:
    """As `board`, and a letter, from `a` on, where something is there perhaps."""
    likely, channel = cells.flatten(0, 1).max(-1)
    pairs = zip(likely.tolist(), channel.tolist(), strict=True)
    return "".join(
        str(c + 1) if p > SURE else "abcd"[c] if p > FAINT else "0" for p, c in pairs
    )


def table(runs: Runs) -> Table:
    steps = {"after 1 step": "1", **{f"{n} steps": str(n) for n in (5, 15, 30)}}
    rows = [
        [thing, *(f"{mean(runs, thing, step):.2f}" for step in steps.values())]
        for thing in THINGS
    ]
    return ["what is foreseen", *steps], rows


def draw(axes: Any, runs: Runs) -> None:
    curves = {thing: values(runs, thing) for thing in THINGS}
    lines(
        axes,
        {
            thing: [[(int(at), share) for at, share in of.items()] for of in found]
            for thing, found in curves.items()
        },
    )


CLAIMS = [
    Trial(
        name="imagination-film",
        statement=(
            "For how many steps a latent model, fitted to games of MinAtar's Breakout,"
            " foresees the ball, the paddle and the wall, under the actions of games"
            " that it has not seen."
        ),
        settings={"games": GAMES, "model": MODEL, "look": LOOK},
        run=train,
        table=table,
        draw=draw,
        axes={
            "title": "MinAtar's Breakout, foreseen",
            "xlabel": "steps since the model last saw the board",
            "ylabel": "share of games in which it is right",
            "ylim": (0, 1),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
