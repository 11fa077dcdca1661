"""MinAtar's Breakout as a model of the world imagines it, and for how long it is right.

Nobody learns to play: a script follows the ball, and a latent model learns from its
games what they look like.
"""

from typing import Any

import gymnasium
import torch
from tensordict import TensorDict
from torch import Generator, Tensor

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import COLORS
from yieldrl.imagination import LatentConfig, LatentModel

SAYS = {
    "imagination-film": (
        "For how many steps a latent model, fitted to games of MinAtar's Breakout,"
        " foresees the ball, the paddle and the wall, under the actions of games that"
        " it has not seen."
    ),
}
MODEL: Any = {"memory_size": 256, "groups": 16, "classes": 8, "free_nats": 1.0}
LOOK = {"num_envs": 256, "after": 60, "seen": 8, "ahead": 30}
PADDLE, BALL, BRICK = 0, 1, 3  # their channels
THINGS = "ball", "paddle", "wall"
FAINT, SURE = 0.1, 0.5
"""From what on a cell is drawn thinly, and from what on as if there were no doubt."""


def measure(seed: int, steps: int = 5_000) -> dict[str, Any]:
    """Fit a model, and look at what it foresees in games that it has not seen.

    Number of steps ahead -> the share of games in which each of `THINGS` is right then,
    of those that went on so long; `film` are the boards of one that goes on to the end.
    """
    generator = Generator().manual_seed(seed)
    torch.manual_seed(seed)
    world = fitted(games(64, 800, seed, generator), generator, steps)
    length = LOOK["seen"] + LOOK["ahead"]
    fresh = games(LOOK["num_envs"], LOOK["after"] + length, 10_000 + seed, generator)
    return {"seed": seed, **looked(world, fresh[-length:])}


def games(num_envs: int, steps: int, seed: int, generator: Generator) -> TensorDict:
    """Steps in a row `[T, N]` of a script that follows the ball, and errs one time in
    ten."""
    envs: Any = gymnasium.make_vec("yieldrl/MinAtar-Breakout-v1", num_envs=num_envs)
    obs, _ = envs.reset(seed=seed)
    first, rows = torch.ones(num_envs, dtype=torch.bool), []
    for _ in range(steps):
        ball, paddle = (where(obs.float(), of) % 10 for of in (BALL, PADDLE))
        action = torch.where(ball < paddle, 1, torch.where(ball > paddle, 2, 0))
        errs = torch.rand(num_envs, generator=generator) < 0.1
        drawn = torch.randint(3, (num_envs,), generator=generator)
        action = torch.where(errs, drawn, action)
        row = {"obs": obs.clone(), "action": action, "first": first}
        obs, reward, terminated, truncated, _ = envs.step(action)
        first = terminated | truncated
        row |= {"reward": reward.clone(), "terminated": terminated.clone()}
        rows.append(TensorDict(row, [num_envs]))
    return torch.stack(rows)  # pyright: ignore[reportReturnType]


def where(boards: Tensor, channel: int) -> Tensor:
    """The cell `[N]` in which a thing most probably is, of boards `[N, 10, 10, C]`."""
    return boards[..., channel].flatten(1).argmax(1)


def fitted(data: TensorDict, generator: Generator, steps: int) -> LatentModel:
    """A model that has learned from sequences of the games."""
    envs: Any = gymnasium.make_vec("yieldrl/MinAtar-Breakout-v1", num_envs=1)
    config = LatentConfig(**MODEL)
    world = LatentModel(envs.single_observation_space, envs.single_action_space, config)
    world.outcome.fit_to(data["reward"].flatten(), data["terminated"].flatten())
    optimizer = torch.optim.Adam(world.parameters(), lr=0.001, fused=True)
    size = config.sequence_length, 16
    along = torch.arange(size[0]).unsqueeze(1)
    for _ in range(steps):
        begin = torch.randint(len(data) - size[0] + 1, size[1:], generator=generator)
        env = torch.randint(data.shape[1], size[1:], generator=generator)
        batch = data[begin + along, env.expand(size)]
        batch["memory"] = torch.zeros(*size, config.memory_size)
        optimizer.zero_grad()
        world.loss(batch, generator)[0].backward()
        torch.nn.utils.clip_grad_norm_(world.parameters(), 100.0)
        optimizer.step()
    return world


@torch.no_grad()
def paint(world: LatentModel, obs: Tensor, action: Tensor, seen: int) -> Tensor:
    """What a model makes of games `[T, N, 10, 10, C]`, of which it sees the first
    boards, under the actions `[T, N]`."""
    memory, state = torch.zeros(obs.shape[1], world.memory_size), torch.empty(0)
    painted = []
    for t in range(len(obs)):
        if t < seen:
            state, _ = world.see(memory, world.features(obs[t]))
        else:
            state = world.predict(state, action[t - 1]).next_obs
        memory = world.remember(state, action[t])
        painted.append(world.decoder(state).permute(0, 2, 3, 1))
    return torch.stack(painted)


def looked(world: LatentModel, data: TensorDict) -> dict[str, Any]:
    """What is right of what is foreseen, and the film."""
    obs, seen = data["obs"].float(), LOOK["seen"]
    painted = paint(world, data["obs"], data["action"], seen)

    def at(channel: int) -> Tensor:
        cells = [where(x.flatten(0, 1), channel) for x in (painted, obs)]
        return torch.eq(*cells).view(obs.shape[:2])

    ended = data["terminated"].long().cumsum(0)
    lives = torch.cat([torch.ones_like(ended[:1]), (ended[:-1] == 0).long()]).bool()
    wall = ((painted > SURE) == (obs > SURE))[..., BRICK].flatten(2).all(2)
    right = dict(zip(THINGS, (at(BALL), at(PADDLE), wall), strict=True))
    shares = {
        name: {
            str(t + 1 - seen): round(float(rows[t][lives[t]].float().mean()), 3)
            for t in range(seen, len(obs))
        }
        for name, rows in right.items()
    }
    shown = int(lives[-1].long().argmax())
    film = {
        name: [board(row[shown]) for row in boards]
        for name, boards in (("real", obs), ("imagined", painted))
    }
    return {**shares, "games": int(lives[-1].sum()), "film": film}


def board(cells: Tensor) -> str:
    """What is in each cell: 0 nothing, else its channel from 1 on; or a letter, from
    `a` on, where something is there perhaps."""
    likely, channel = cells.flatten(0, 1).max(-1)
    pairs = zip(likely.tolist(), channel.tolist(), strict=True)
    return "".join(
        str(c + 1) if p > SURE else "abcd"[c] if p > FAINT else "0" for p, c in pairs
    )


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
