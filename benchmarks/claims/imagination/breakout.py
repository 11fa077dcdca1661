"""MinAtar's Breakout: Dreamer beside two that imagine nothing, and what it foresees."""

import importlib
import statistics
import time
from typing import Any

import gymnasium
import torch
from torch import Tensor

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Runs, Table, Trial

STEPS = 20_000
COMMON: dict[str, Any] = {
    "env_id": "yieldrl/MinAtar-Breakout-v1",
    "env_kwargs": {"max_episode_steps": 2_000},
    "num_envs": 8,
    "total_steps": STEPS,
    "eval_every": 2_000,
    "eval_episodes": 32,
    "device": "cpu",
    "threads": 1,
    "speed": "eager",
}
SIDES: dict[str, dict[str, Any]] = {
    "dreamer": {},
    "ppo": {},
    "rainbow": {"v_min": 0.0, "v_max": 20.0},
    "ppo, 20 times the steps": {"total_steps": 20 * STEPS, "eval_every": 20 * STEPS},
}
SEEN, AHEAD, BOARDS = 8, 15, 64
"""Steps that the model sees, steps that it then imagines, and how many games."""

BALL = 1  # its channel


def train(side: str, seed: int) -> dict[str, Any]:
    """One run: its evaluations, its time, and of Dreamer what it foresees."""
    module = importlib.import_module(f"yieldrl.algorithms.{side.partition(',')[0]}")
    config, curve = module.Config(**{**COMMON, **SIDES[side]}, seed=seed), []
    begin, busy = time.perf_counter(), time.process_time()
    with module.Trainer(config) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                found = round(float(log["logs"]["episode_return"]), 2)
                curve.append([log["sample_step"], found])
        run = {
            "side": side,
            "seed": seed,
            "curve": curve,
            "seconds": round(time.perf_counter() - begin, 1),
            "cpu_seconds": round(time.process_time() - busy, 1),
        }
        if side == "dreamer":
            run |= foreseen(trainer, seed)
    return run


@torch.no_grad()
def foreseen(trainer: Any, seed: int) -> dict[str, Any]:
    """Games beside what the model makes of them, from their first steps on.

    `ball [AHEAD]` is how often the ball is where it was foreseen so many steps ahead,
    in games that went on so long; `film` are the boards of the game that went on for
    longest, real and imagined: numbers of channels from 1 on, cell by cell.
    """
    obs, action, lives = games(trainer, seed)
    painted = paint(trainer.model.world, obs, action, SEEN)
    ball = []
    for t in range(SEEN, SEEN + AHEAD):
        real, imagined = (where(x[t][lives[t]]) for x in (obs.float(), painted))
        ball.append(round(float((real == imagined).float().mean()), 3))
    longest = int(lives.sum(0).argmax())
    film = {
        name: [board(x[t][longest]) for t in range(SEEN + AHEAD)]
        for name, x in (("real", obs.float()), ("imagined", painted))
    }
    return {"ball": [b if b == b else None for b in ball], "film": film}


@torch.no_grad()
def paint(world: Any, obs: Tensor, action: Tensor, seen: int) -> list[Tensor]:
    """What a model makes of games, boards `[N, 10, 10, C]` of every step.

    Args:
        world: The model, of latents.
        obs: The games' boards `[T, N, 10, 10, C]`, of which it sees the first ones.
        action: What was done on each, `[T, N]`.
        seen: How many boards it sees before it imagines.
    """
    memory, state = torch.zeros(obs.shape[1], world.memory_size), torch.empty(0)
    painted = []
    for t in range(len(obs)):
        if t < seen:
            state, _ = world.see(memory, world.features(obs[t]))
        else:
            state = world.predict(state, action[t - 1]).next_obs
        memory = world.remember(state, action[t])
        painted.append(world.decoder(state).permute(0, 2, 3, 1))
    return painted


def games(trainer: Any, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Boards `[T, N, 10, 10, C]`, actions `[T, N]`, and which still go on `[T, N]`."""
    made = {"num_envs": BOARDS, **COMMON["env_kwargs"]}
    envs = gymnasium.make_vec(COMMON["env_id"], **made)
    agent, rows = trainer.agent, []
    agent.begin_episode()
    obs, _ = envs.reset(seed=10_000 + seed)
    lives = torch.ones(BOARDS, dtype=torch.bool)
    for _ in range(SEEN + AHEAD):
        action = agent.predict(obs)
        rows.append((obs.clone(), action.clone(), lives))
        obs, _, terminated, truncated, _ = envs.step(action)
        lives = lives & ~(terminated | truncated)
    agent.begin_episode()
    boards, actions, all_lives = map(torch.stack, zip(*rows, strict=True))
    return boards, actions, all_lives


def where(boards: Tensor, channel: int = BALL) -> Tensor:
    """The cell `[N]` in which a thing most probably is, of boards `[N, 10, 10, C]`."""
    return boards[..., channel].flatten(1).argmax(1)


def board(cells: Tensor) -> str:
    """What is most probably in each cell: 0 nothing, else its channel from 1 on."""
    likely, channel = cells.max(-1)
    found = torch.where(likely > 0.5, channel + 1, 0)
    return "".join(map(str, found.flatten().tolist()))


def foresees(runs: Runs, ahead: int) -> str:
    """How often the ball is foreseen so many steps ahead, the mean of the seeds."""
    found = [run["ball"][ahead - 1] for run in runs if "ball" in run]
    known = [share for share in found if share is not None]
    return f"{statistics.mean(known):.2f}" if known else ""


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        of = some(runs, side=side)
        last = [run["curve"][-1][1] for run in of]
        row = [side, str(of[0]["curve"][-1][0]), spread(last, ".2f")]
        row.append(f"{mean(of, 'cpu_seconds'):.0f}")
        rows.append(row + [foresees(of, ahead) for ahead in (1, 5, 15)])
    header = ["side", "real steps", "return at the end", "CPU seconds"]
    return [*header, "ball foreseen, 1 step ahead", "5 steps", "15 steps"], rows


def draw(axes: Any, runs: Runs) -> None:
    equal = [side for side, of in SIDES.items() if "total_steps" not in of]
    lines(axes, {side: values(runs, "curve", side=side) for side in equal})


CLAIMS = [
    Trial(
        name="imagination-breakout",
        statement=(
            "What Dreamer, PPO and Rainbow return on MinAtar's Breakout after as many"
            " real steps, and the time that it takes them."
        ),
        settings={"common": COMMON, "sides": SIDES},
        run=train,
        cases=[{"side": side} for side in SIDES],
        table=table,
        draw=draw,
        axes={
            "title": "MinAtar's Breakout, with and without imagination",
            "xlabel": "real environment steps",
            "ylabel": "return of deterministic episodes",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
