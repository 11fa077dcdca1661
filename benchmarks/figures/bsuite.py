"""Scores on four experiments of bsuite, by its own environments and its own scoring.

    pip install bsuite shimmy "pandas<2" "numpy<2"
    python -m benchmarks.figures.bsuite bsuite-catch --seeds 1

Osband et al. 2020, "Behaviour Suite for Reinforcement Learning", arXiv:1908.03568: a
score is 0 for acting at random and 1 for acting perfectly from the beginning. DQN has
the settings of bsuite's own, but a gradient step every fourth step, not every one;
where a memory is needed, PPO with an LSTM learns. One in `EVERY` of an experiment's
environments is learned, which are its seeds, sizes or lengths.
"""

import importlib
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

DQN = {
    "algorithm": "dqn",
    "buffer_size": 10_000,
    "learning_starts": 128,
    "train_every": 4,
    "compile": True,
    "batch_size": 32,
    "target_every": 4,
    "learning_rate": 1e-3,
    "epsilon_start": 0.05,
    "epsilon_end": 0.05,
    "hidden_sizes": (50, 50),
}
LSTM = {"algorithm": "ppo_lstm", "num_steps": 256, "num_minibatches": 1}
LEARNERS = {"catch": DQN, "cartpole": DQN, "deep_sea": DQN, "memory_len": LSTM}
FOREVER = 10**8  # steps: an experiment ends by its episodes
EVERY = 4


class Rows(list[dict[str, Any]]):
    """What bsuite logs, as its scoring reads it."""

    write = list.append


def measure(seed: int, name: str, number: int) -> dict[str, Any]:
    """Learn one environment of an experiment for as many episodes as bsuite says."""
    import bsuite
    from bsuite.utils.wrappers import Logging
    from gymnasium.vector import SyncVectorEnv
    from shimmy import BSuiteCompatibilityV0

    experiment = name.removeprefix("bsuite-")
    world, rows = bsuite.load_from_id(f"{experiment}/{number}"), Rows()
    envs = SyncVectorEnv([lambda: BSuiteCompatibilityV0(Logging(world, rows))])
    fields = {"seed": 1000 * seed + number, "total_steps": FOREVER, "eval_every": 0}
    fields |= {"num_envs": 1, "anneal_learning_rate": False}
    settings = LEARNERS[experiment] | fields
    with make_trainer(settings.pop("algorithm"), settings, envs=envs) as trainer:
        for _ in trainer():
            if rows and rows[-1]["episode"] >= world.bsuite_num_episodes:
                break
    own = {**bsuite.sweep.SETTINGS[f"{experiment}/{number}"], "bsuite_id": number}
    return {"seed": seed, "experiment": experiment, "rows": [own | row for row in rows]}


def table(runs: figure.Runs) -> figure.Table:
    """The score of all environments of an experiment together."""
    import pandas as pd

    experiment, rows = (
        runs[0]["experiment"],
        [row for run in runs for row in run["rows"]],
    )
    analysis = importlib.import_module(f"bsuite.experiments.{experiment}.analysis")
    score = f"{analysis.score(pd.DataFrame(rows)):.2f}"
    return ["experiment", "environments", "score"], [
        [experiment, str(len(runs)), score]
    ]


def environments(name: str) -> range:
    """The numbers of an experiment's environments that are learned."""
    from bsuite import sweep

    ids = getattr(sweep, name.removeprefix("bsuite-").upper())
    return range(0, len(ids), EVERY)


SAYS = {
    f"bsuite-{name}": f"What {config['algorithm']} scores on bsuite's {name}."
    for name, config in LEARNERS.items()
}

if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw=None, number=environments)
