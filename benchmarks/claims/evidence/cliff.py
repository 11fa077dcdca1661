"""What exploring costs on a cliff: Q-learning beside SARSA, while they learn.

Sutton & Barto 2018, example 6.6, with one random step in ten for ever.
"""

import importlib
import statistics
from typing import Any

from yieldrl.benchmarks.evidence import Claim, main
from yieldrl.benchmarks.tasks import make_config

ALGORITHMS = ("sarsa", "q_learning")
EPISODES_A_POINT = 50


def online(seed: int) -> dict[str, Any]:
    """Returns of the episodes in which both algorithms learned, with one config."""
    measured: dict[str, Any] = {}
    for name in ALGORITHMS:
        fields = {"seed": seed, "eval_every": 0, "device": "cpu"}
        config = make_config(name, "q_learning/cliffwalking", fields)
        module = importlib.import_module(f"yieldrl.algorithms.{name}")
        steps, returns = [], []
        with module.Trainer(config) as trainer:
            for log in trainer():
                if "episode_return" in log["logs"]:
                    steps.append(log["sample_step"])
                    returns.append(log["logs"]["episode_return"])
        size = EPISODES_A_POINT
        measured[name] = [
            [steps[i + size - 1], statistics.mean(returns[i : i + size])]
            for i in range(0, len(returns) - size + 1, size)
        ]
        late = [r for s, r in zip(steps, returns, strict=True) if s > steps[-1] / 2]
        measured[f"return of {name}"] = statistics.mean(late)
    return measured


CLAIMS = [
    Claim(
        name="sarsa-online",
        statement="On the cliff SARSA earns more than Q-learning while it explores.",
        run=online,
        criterion="its training episodes return more in the second half of the steps",
        holds=lambda of: of["return of sarsa"] > of["return of q_learning"],
        y_label="return of an episode with exploration",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
