"""Without its target network DQN's values pass what is possible, without replay they
hardly tell a falling pole from an upright one.

In CartPole-v1 every reward is 1: a pole that is upright and at rest is worth at most
`1 / (1 - gamma)`, one that falls with the next step, whatever is done, is worth 1. The
falling ones are about the mean of those that random actions let fall.
"""

import statistics
from typing import Any

import torch

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.tasks import make_trainer

SAYS = figure.said("dqn-stability", __doc__)
# What DQN has -> its settings: a target that is copied after every gradient step is no
# target network, and a buffer that holds one batch is the latest steps and no memory.
NO_TARGET: dict[str, Any] = {"tau": 1.0, "target_every": 1}
NO_REPLAY: dict[str, Any] = {"buffer_size": 64}
WITHOUT: dict[str, dict[str, Any]] = {
    "both": {},
    "no target network": NO_TARGET,
    "no replay": NO_REPLAY,
    "neither": NO_TARGET | NO_REPLAY,
}
COMMON: dict[str, Any] = {"batch_size": 64, "hidden_sizes": (64, 64), "train_every": 1}
COMMON |= {"learning_starts": 500, "tau": 0.01, "anneal_learning_rate": False}
LOOK_EVERY = 200  # environment steps
# the states that are valued: upright, and about to fall to either side
POLES = torch.tensor(
    [[0.0, 0.0, 0.0, 0.0], [-0.1, -0.8, 0.2, 1.4], [0.1, 0.8, -0.2, -1.4]]
)


def measure(seed: int, steps: int = 10_000) -> dict[str, Any]:
    """The values of both kinds of state, with each setting of `WITHOUT`: the largest
    and the mean of the second half of training, and the steps of an episode."""
    numbers, lines = {}, {}
    for name, settings in WITHOUT.items():
        fields = COMMON | settings | {"total_steps": steps, "seed": seed}
        looks: list[tuple[int, float, float]] = []
        lengths: list[float] = []
        with make_trainer("dqn", fields | {"eval_every": 0}) as trainer:
            for log in trainer():
                step = log["sample_step"]
                if step > steps // 2 and "episode_length" in log["logs"]:
                    lengths.append(float(log["logs"]["episode_length"]))
                if step >= LOOK_EVERY * (len(looks) + 1):
                    looks.append((step, *values(trainer)))
        lines[f"{name}, upright"] = [[step, value] for step, value, _ in looks]
        lines[f"{name}, falling"] = [[step, value] for step, _, value in looks]
        _, upright, falling = zip(*looks[len(looks) // 2 :], strict=True)
        numbers[f"upright, {name}"] = max(upright)
        numbers[f"falling, {name}"] = statistics.mean(falling)
        numbers[f"episode, {name}"] = statistics.mean(lengths)
    return {"seed": seed, "numbers": numbers, "series": lines}


@torch.inference_mode()
def values(trainer: Any) -> tuple[float, float]:
    """`max_a Q(s, a)` of the upright pole, and the mean of it for the falling ones."""
    upright, *falling = trainer.model.value(POLES).amax(1).tolist()
    return round(upright, 2), round(statistics.mean(falling), 2)


if __name__ == "__main__":
    figure.main(SAYS, measure, labels={"ylabel": "value of the greedy action"})
