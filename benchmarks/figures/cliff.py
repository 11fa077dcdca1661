"""On the cliff SARSA earns more than Q-learning while it explores.

Sutton & Barto 2018, example 6.6, with one random step in ten for ever.
"""

import statistics
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

SAYS = figure.said("sarsa-online", __doc__)
EPISODES_A_POINT = 50


def measure(seed: int, **fields: Any) -> dict[str, Any]:
    """Returns of the episodes in which both algorithms learned, with one config; the
    numbers are means over those of the second half of the steps."""
    numbers, lines = {}, {}
    for name in ("sarsa", "q_learning"):
        fields |= {"seed": seed, "eval_every": 0}
        episodes: list[tuple[int, float]] = []
        with make_trainer(name, fields, "q_learning/cliffwalking") as trainer:
            for log in trainer():
                if "episode_return" in log["logs"]:
                    earned = float(log["logs"]["episode_return"])
                    episodes.append((log["sample_step"], earned))
        size = EPISODES_A_POINT
        lines[name] = [
            [episodes[i - 1][0], statistics.mean(y for _, y in episodes[i - size : i])]
            for i in range(size, len(episodes) + 1, size)
        ]
        late = [earned for step, earned in episodes if 2 * step > episodes[-1][0]]
        numbers[f"return of {name}"] = statistics.mean(late)
    return {"seed": seed, "numbers": numbers, "series": lines}


if __name__ == "__main__":
    ylabel = "return of an episode with exploration"
    figure.main(SAYS, measure, labels={"ylabel": ylabel})
