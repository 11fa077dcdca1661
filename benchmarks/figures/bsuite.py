"""Scores on four experiments of bsuite, by its own environments and its own scoring.

    pip install bsuite shimmy "pandas<2" "numpy<2"
    python -m benchmarks.figures.bsuite bsuite-catch --seeds 1

Osband et al. 2020, "Behaviour Suite for Reinforcement Learning", arXiv:1908.03568: a
score is 0 for acting at random and 1 for acting perfectly from the beginning. DQN has
nearly the settings of bsuite's own; where a memory is needed, PPO with an LSTM learns.
One in `EVERY` of an experiment's environments is learned, its seeds, sizes or lengths.
"""

import importlib
from types import SimpleNamespace
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

LSTM = {"num_envs": 1, "num_steps": 256, "num_minibatches": 1}
LSTM |= {"anneal_learning_rate": False}
LEARNERS: dict[str, Any] = {
    **dict.fromkeys(
        ("catch", "cartpole", "deep_sea"), ("dqn", {"compile": True}, "bsuite")
    ),
    "memory_len": ("ppo_lstm", LSTM, None),
}
"""Experiment -> algorithm, fields of its config, and a tuned file."""
FOREVER = 10**8  # steps: an experiment ends by its episodes
EVERY = 4


def measure(seed: int, name: str) -> dict[str, Any]:
    """Learn environments of an experiment, each by itself, and score them together."""
    import pandas as pd
    from bsuite import sweep

    experiment = name.removeprefix("bsuite-")
    analysis = importlib.import_module(f"bsuite.experiments.{experiment}.analysis")
    ids = getattr(sweep, experiment.upper())[::EVERY]
    logged = {x: learn(x, 1000 * seed + i) for i, x in enumerate(ids)}
    known = {one: {**sweep.SETTINGS[one], "bsuite_id": one} for one in ids}
    rows = [known[one] | row for one, rows in logged.items() for row in rows]
    score = round(float(analysis.score(pd.DataFrame(rows))), 3)
    last = {x: {k: float(v) for k, v in of[-1].items()} for x, of in logged.items()}
    return {"seed": seed, "numbers": {"score": score}, "last": last}


def learn(one: str, seed: int) -> list[dict[str, Any]]:
    """What bsuite logs of an environment, learned for as many episodes as it says."""
    import bsuite
    from bsuite.utils.wrappers import Logging
    from gymnasium.vector import SyncVectorEnv
    from shimmy import BSuiteCompatibilityV0

    rows: list[dict[str, Any]] = []
    world = Logging(bsuite.load_from_id(one), SimpleNamespace(write=rows.append))
    envs = SyncVectorEnv([lambda: BSuiteCompatibilityV0(world)])
    algorithm, fields, tuned = LEARNERS[one.partition("/")[0]]
    fields = fields | {"seed": seed, "total_steps": FOREVER, "eval_every": 0}
    with make_trainer(algorithm, fields, tuned, envs=envs) as trainer:
        for _ in trainer():
            if rows and rows[-1]["episode"] >= world.bsuite_num_episodes:
                break
    return rows


SAYS = {
    f"bsuite-{name}": f"What {algorithm} scores on bsuite's {name}."
    for name, (algorithm, *_) in LEARNERS.items()
}

if __name__ == "__main__":
    figure.main(SAYS, measure, draw=None)
