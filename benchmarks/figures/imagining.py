"""Returns against real steps, with and without a model of the world.

imagination-pendulum: MBPO beside SAC on Pendulum-v1.
imagination-breakout: Dreamer beside PPO and Rainbow on MinAtar's Breakout.
"""

import time
from typing import Any

import numpy as np

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import curves
from yieldrl.benchmarks.tasks import make_trainer

COMMON: dict[str, Any] = {"threads": 1, "eval_every": 250}
SAC = COMMON | {"total_steps": 4_500}
BUSY = COMMON | {"total_steps": 1_500, "learning_starts": 500, "gradient_steps": 10}
BREAKOUT = COMMON | {"env_id": "yieldrl/MinAtar-Breakout-v1", "num_envs": 8}
BREAKOUT |= {"env_kwargs": {"max_episode_steps": 2_000}, "total_steps": 20_000}
BREAKOUT |= {"eval_every": 2_000, "eval_episodes": 32}
LONG = {"total_steps": 400_000, "eval_every": 400_000}
# figure -> side -> fields; the algorithm is the name's first word
SIDES: dict[str, dict[str, dict[str, Any]]] = {
    "imagination-pendulum": {
        "sac": SAC,
        "sac, as busy": BUSY,
        **{f"mbpo, horizon {h}": BUSY | {"horizon": h} for h in (1, 5, 15)},
    },
    "imagination-breakout": {
        "dreamer": BREAKOUT,
        "ppo": BREAKOUT,
        "rainbow": BREAKOUT | {"v_min": 0.0, "v_max": 20.0},
        "ppo, 20 times the steps": BREAKOUT | LONG,
    },
}
SAYS = {
    "imagination-pendulum": (
        "MBPO with branches of 5 steps reaches a mean return of -200 on Pendulum-v1 in"
        " half of SAC's real steps or less. The sentence was first about branches of 1"
        " step, of which it does not hold: one seed of five returns -608 when the"
        " others are there."
    ),
    "imagination-breakout": (
        "What Dreamer, PPO and Rainbow return on MinAtar's Breakout after as many real"
        " steps, and the time that it takes them."
    ),
}


def measure(seed: int, name: str, side: str, **fields: Any) -> dict[str, Any]:
    """One run: its evaluations, and the seconds of a processor."""
    busy, fields = time.process_time(), SIDES[name][side] | fields | {"seed": seed}
    with make_trainer(side.partition(",")[0], fields) as trainer:
        curve = figure.trained(trainer)
    seconds = round(time.process_time() - busy, 1)
    return {"side": side, "seed": seed, "curve": curve, "cpu_seconds": seconds}


def table(runs: figure.Runs) -> figure.Table:
    """The last return, and beside SAC after how many steps the mean was -200."""
    rows: list[list[str]] = []
    header = ["side", "real steps", "return at the end", "CPU seconds"]
    for side in dict.fromkeys(run["side"] for run in runs):
        of = figure.some(runs, side=side)
        means = np.mean(figure.values(of, "curve"), 0).tolist()
        last = figure.values(of, "curve", -1, 1)
        enough = [f"{step:,.0f}" for step, score in means if score >= -200]
        row = [side, f"{means[-1][0]:,.0f}", figure.spread(last, ".4g")]
        row += [(enough or ["never"])[0], f"{figure.mean(of, 'cpu_seconds'):.0f}"]
        rows.append(row)
    if runs[0]["side"] == "sac":
        return [*header[:3], "real steps to -200", header[3]], rows
    return header, [row[:3] + row[4:] for row in rows]


if __name__ == "__main__":
    figure.main(SAYS, measure, table, curves, side=SIDES.get)
