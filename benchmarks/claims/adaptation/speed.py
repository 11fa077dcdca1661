"""What the phase train costs beside plain PPO: both take turns, rollout by rollout."""

import statistics
from collections.abc import Sequence
from typing import Any

from yieldrl.algorithms import ppo, ppo_roa
from yieldrl.benchmarks.claim import Run, Table, constants
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.timing import learn_rollouts, trainers_in_turns

SLICES = 8  # of each side of a seed, after one that is not counted

FIELDS, TRAIN, WORLDS, SIDES = constants(
    "adaptation/speed", "FIELDS", "TRAIN", "WORLDS", "SIDES"
)

SETTINGS = {**FIELDS, **TRAIN, "slices": SLICES, "rollouts": WORLDS}
CASES = [{"env_id": env_id} for env_id in WORLDS]


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


def speeds(runs: Sequence[Run], env_id: str, side: str) -> list[float]:
    return [x for run in runs if run["env_id"] == env_id for x in run[side]]


def ratio(runs: Sequence[Run], env_id: str, side: str) -> float:
    """Time of a step, in times of plain PPO's: the median of the pairs of slices."""
    pairs = zip(speeds(runs, env_id, "ppo"), speeds(runs, env_id, side), strict=True)
    return statistics.median(plain / of for plain, of in pairs)


def name(env_id: str) -> str:
    return env_id.partition("/")[2].rpartition("-")[0]


def table(runs: Sequence[Run]) -> Table:
    rows: list[list[str]] = []
    for env_id in WORLDS:
        for side, words in SIDES.items():
            median = statistics.median(speeds(runs, env_id, side))
            row = [name(env_id), words, f"{median:,.0f}", f"{1e6 / median:.1f}"]
            rows.append([*row, f"{ratio(runs, env_id, side):.2f}"])
    return ["world", "side", "steps per second", "ms of 1,000 steps", "ratio"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
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
