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


def measure(seed: int, name: str) -> dict[str, Any]:
    """Learn environments of an experiment, each by itself, and score them together."""
    import pandas as pd
    from bsuite import sweep

    experiment = name.removeprefix("bsuite-")
    analysis = importlib.import_module(f"bsuite.experiments.{experiment}.analysis")
    ids = getattr(sweep, experiment.upper())[::EVERY]
    config = LEARNERS[experiment]
    logged = {x: learn(x, 1000 * seed + i, config) for i, x in enumerate(ids)}
    known = {one: {**sweep.SETTINGS[one], "bsuite_id": one} for one in ids}
    rows = [known[one] | row for one, rows in logged.items() for row in rows]
    score = round(float(analysis.score(pd.DataFrame(rows))), 3)
    last = {one: rows[-1] for one, rows in logged.items()}
    return {"seed": seed, "numbers": {"score": score}, "last": last}


def learn(one: str, seed: int, config: dict[str, Any]) -> list[dict[str, Any]]:
    """What bsuite logs of an environment, learned for as many episodes as it says."""
    import bsuite
    from bsuite.utils.wrappers import Logging
    from gymnasium.vector import SyncVectorEnv
    from shimmy import BSuiteCompatibilityV0

    world, rows = bsuite.load_from_id(one), Rows()
    envs = SyncVectorEnv([lambda: BSuiteCompatibilityV0(Logging(world, rows))])
    fields = config | {"seed": seed, "total_steps": FOREVER, "num_envs": 1}
    fields |= {"eval_every": 0, "anneal_learning_rate": False}
    with make_trainer(fields.pop("algorithm"), fields, envs=envs) as trainer:
        for _ in trainer():
            if rows and rows[-1]["episode"] >= world.bsuite_num_episodes:
                break
    return rows


SAYS = {
    f"bsuite-{name}": f"What {config['algorithm']} scores on bsuite's {name}."
    for name, config in LEARNERS.items()
}

if __name__ == "__main__":
    figure.main(SAYS, measure, draw=None)
