"""What the phase train costs beside plain PPO: both take turns, rollout by rollout."""

import statistics
from typing import Any

from yieldrl.algorithms import ppo, ppo_roa
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.timing import learn_rollouts, trainers_in_turns
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

SLICES = 8  # of each side of a seed, after one that is not counted

FIELDS: dict[str, Any] = {
    "eval_every": 0,
    "device": "cpu",
    "threads": 1,
    "num_envs": 1024,
    "num_steps": 32,
    "num_epochs": 4,
    "num_minibatches": 4,
    "normalize_observation": True,
    "anneal_learning_rate": False,
    "total_steps": 1_000_000_000,
    "speed": "compile",
}
# PPO-ROA is in the phase train all the time, and its regulariser is on at once: while
# its weight is 0 it costs nothing
TRAIN: dict[str, Any] = {
    "phase_steps": (1_000_000_000, 0, 0),
    "regularizer_ramp": (0.0, 0.0),
}
# world -> rollouts learned from in a slice, about a second
WORLDS = {"yieldrl/HiddenCartPole-v1": 3, "yieldrl/HiddenHalfCheetah-v1": 1}
SIDES = {"ppo": "plain PPO", "mlp": "train, MLP", "gru": "train, GRU"}


def trainer_of(side: str, env_id: str, seed: int) -> ppo.Trainer:
    fields: dict[str, Any] = {**FIELDS, "env_id": env_id, "seed": seed}
    if side == "ppo":
        return ppo.Trainer(ppo.Config(**fields))
    fields |= {**TRAIN, "adaptation": side}
    return ppo_roa.Trainer(ppo_roa.Config(**fields))


def slices(env_id: str, seed: int) -> dict[str, Any]:
    trainers = {side: trainer_of(side, env_id, seed) for side in SIDES}
    rollouts = WORLDS[env_id]
    found = trainers_in_turns(trainers, lambda of: one_slice(of, rollouts), SLICES)
    return {"env_id": env_id, "seed": seed, **found}


def one_slice(trainer: ppo.Trainer, rollouts: int) -> float:
    """Environment steps per second, of so many rollouts and learning from them."""
    steps = rollouts * trainer.config.batch_size
    return round(steps / learn_rollouts(trainer, rollouts), 1)


def speeds(runs: Runs, env_id: str, side: str) -> list[float]:
    return [x for run in runs if run["env_id"] == env_id for x in run[side]]


def ratio(runs: Runs, env_id: str, side: str) -> float:
    """Time of a step, in times of plain PPO's: the median of the pairs of slices."""
    pairs = zip(speeds(runs, env_id, "ppo"), speeds(runs, env_id, side), strict=True)
    return statistics.median(plain / of for plain, of in pairs)


def name(env_id: str) -> str:
    return env_id.partition("/")[2].rpartition("-")[0]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for env_id in WORLDS:
        for side, words in SIDES.items():
            median = statistics.median(speeds(runs, env_id, side))
            row = [name(env_id), words, f"{median:,.0f}", f"{1e6 / median:.1f}"]
            rows.append([*row, f"{ratio(runs, env_id, side):.2f}"])
    return ["world", "side", "steps per second", "ms of 1,000 steps", "ratio"], rows


def draw(axes: Any, runs: Runs) -> None:
    from matplotlib.ticker import EngFormatter

    for place, env_id in enumerate(WORLDS):
        for number, (color, side) in enumerate(zip(COLORS, SIDES, strict=False)):
            of, x = speeds(runs, env_id, side), place + 0.27 * (number - 1)
            label = f"{SIDES[side]}, {len(of)} slices" if place == 0 else None
            median = statistics.median(of)
            axes.bar(x, median, 0.25, color=color, alpha=0.6, label=label)
            axes.plot([x] * len(of), of, ".", color=color, markersize=4)
    axes.set_xticks(range(len(WORLDS)), [name(env_id) for env_id in WORLDS])
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylim(bottom=0)


def judge(runs: Runs) -> list[Demand]:
    """A step takes at most twice as long."""
    words = "train, {}: time of a step, in times of plain PPO's"
    return [
        at_most(f"{name(of)}, {words.format(side.upper())}", ratio(runs, of, side), 2.0)
        for of in WORLDS
        for side in ("mlp", "gru")
    ]


CLAIMS = [
    Trial(
        name="adaptation-speed",
        statement=(
            "A step of the phase train, in which teacher and student both learn, beside"
            " one of plain PPO."
        ),
        settings={**FIELDS, **TRAIN, "slices": SLICES, "rollouts": WORLDS},
        run=slices,
        cases=[{"env_id": env_id} for env_id in WORLDS],
        timed=True,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Learning in 1,024 worlds of tensors",
            "ylabel": "environment steps per second",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
