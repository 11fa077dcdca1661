"""For how many steps a latent model, fitted to games of MinAtar's Breakout, foresees
the ball, the paddle and the wall, under the actions of games that it has not seen.

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

WORLD = "yieldrl/MinAtar-Breakout-v1"
SAYS = figure.said("imagination-film", __doc__)
NUM_ENVS, AFTER, SEEN, AHEAD = 256, 60, 8, 30
THINGS = "ball", "paddle", "wall"
MODEL: Any = {"memory_size": 256, "groups": 16, "classes": 8, "free_nats": 1.0}
PADDLE, BALL, BRICK = 0, 1, 3  # their channels
# from what on a cell is drawn thinly, and from what on as if there were no doubt
FAINT, SURE = 0.1, 0.5


def measure(seed: int, steps: int = 5_000) -> dict[str, Any]:
    """Fit a model, and look at what it foresees in games that it has not seen. Number
    of steps ahead -> the share of games in which each of `THINGS` is right, of those
    that went on so long; `film` are the boards of one that goes on."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    world = fitted(played(64, 800, seed, generator), generator, steps)
    games = played(NUM_ENVS, AFTER + SEEN + AHEAD, 10_000 + seed, generator)[AFTER:]
    real, imagined = games["obs"].float(), foreseen(world, games, SEEN)
    ball, paddle = (where(imagined, of) == where(real, of) for of in (BALL, PADDLE))
    wall = ((imagined > SURE) == (real > SURE))[..., BRICK]
    rights = ball, paddle, wall.flatten(2).all(2)
    ended = games["terminated"].cumsum(0) > 0
    lives = torch.cat([torch.ones_like(ended[:1]), ~ended[:-1]])
    run: dict[str, Any] = {"seed": seed}
    for thing, right in zip(THINGS, rights, strict=True):
        run[thing] = {
            f"{ahead}": round(float(right[t][lives[t]].float().mean()), 3)
            for ahead, t in enumerate(range(SEEN, len(real)), 1)
        }
    shown = int(lives[-1].long().argmax())
    sides = {"real": real, "imagined": imagined}
    run["film"] = {name: [*map(drawn, of[:, shown])] for name, of in sides.items()}
    return run


def played(num_envs: int, steps: int, seed: int, generator: Generator) -> TensorDict:
    """Steps in a row `[T, N]` of a script that follows the ball, and errs one time in
    ten."""
    envs: Any = gymnasium.make_vec(WORLD, num_envs=num_envs)
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
    """The cell `[...]` where a thing most probably is, of boards `[..., 10, 10, C]`."""
    return boards[..., channel].flatten(-2).argmax(-1)


def fitted(data: TensorDict, generator: Generator, steps: int) -> LatentModel:
    """A model that has learned from sequences of games `[T, N]`."""
    env, config = gymnasium.make_vec(WORLD, num_envs=1), LatentConfig(**MODEL)
    world = LatentModel(env.single_observation_space, env.single_action_space, config)
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
def foreseen(world: LatentModel, games: TensorDict, seen: int) -> Tensor:
    """Boards `[T, N, 10, 10, C]` as a model imagines them, that sees the first ones of
    games `[T, N]` and then nothing but the actions."""
    memory = torch.zeros(seen, games.shape[1], world.memory_size)
    states = [*world.unroll(games[:seen].copy().update({"memory": memory})).state]
    for action in games["action"][seen - 1 : -1]:
        states.append(world.predict(states[-1], action).next_obs)
    return torch.stack([world.decoder(state).permute(0, 2, 3, 1) for state in states])


def drawn(board: Tensor) -> str:
    """What is in each cell: 0 nothing, else its channel from 1 on; or a letter, from
    `a` on, where something is there perhaps."""
    cells = zip(*(of.tolist() for of in board.flatten(0, 1).max(-1)), strict=True)
    return "".join(
        str(c + 1) if p > SURE else "abcd"[c] if p > FAINT else "0" for p, c in cells
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
