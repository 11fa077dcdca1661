"""What DQN's values do without its target network, and without its replay buffer.

In CartPole-v1 every reward is 1: a pole that is upright and at rest is worth at most
`1 / (1 - gamma)`, one that falls with the next step, whatever is done, is worth 1. The
falling ones are about the mean of those that random actions let fall.
"""

import statistics
from typing import Any

import torch

from yieldrl.algorithms import dqn
from yieldrl.benchmarks.evidence import Claim, main

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
COMMON: dict[str, Any] = {
    "batch_size": 64,
    "hidden_sizes": (64, 64),
    "train_every": 1,
    "learning_starts": 500,
    "tau": 0.01,
    "anneal_learning_rate": False,
    "speed": "eager",
    "eval_every": 0,
    "device": "cpu",
}

STEPS = 10_000
LOOK_EVERY = 200  # environment steps
# the states that are valued: upright, and about to fall to either side
POLES = torch.tensor(
    [[0.0, 0.0, 0.0, 0.0], [-0.1, -0.8, 0.2, 1.4], [0.1, 0.8, -0.2, -1.4]]
)


def in_cartpole(seed: int) -> dict[str, Any]:
    """The values of both kinds of state, with each setting of `WITHOUT`: the largest
    and the mean of the second half of training, and the steps of an episode."""
    measured: dict[str, Any] = {}
    for name, settings in WITHOUT.items():
        looks, lengths = watched(seed, settings)
        measured[f"{name}, upright"] = [[step, value] for step, value, _ in looks]
        measured[f"{name}, falling"] = [[step, value] for step, _, value in looks]
        _, upright, falling = zip(*looks[len(looks) // 2 :], strict=True)
        measured[f"upright, {name}"] = max(upright)
        measured[f"falling, {name}"] = statistics.mean(falling)
        measured[f"episode, {name}"] = statistics.mean(lengths)
    return measured


def watched(
    seed: int, settings: dict[str, Any]
) -> tuple[list[tuple[int, float, float]], list[float]]:
    """Train; steps taken with the values on the way, and the lengths of the episodes
    that ended in the second half."""
    config = dqn.Config(**{**COMMON, **settings}, total_steps=STEPS, seed=seed)
    looks: list[tuple[int, float, float]] = []
    lengths: list[float] = []
    with dqn.Trainer(config) as trainer:
        for log in trainer():
            step = log["sample_step"]
            if step > STEPS // 2 and "episode_length" in log["logs"]:
                lengths.append(float(log["logs"]["episode_length"]))
            if step >= LOOK_EVERY * (len(looks) + 1):
                looks.append((step, *values(trainer)))
    return looks, lengths


@torch.inference_mode()
def values(trainer: Any) -> tuple[float, float]:
    """`max_a Q(s, a)` of the upright pole, and the mean of it for the falling ones."""
    upright, *falling = trainer.model.value(POLES).amax(1).tolist()
    return round(upright, 2), round(statistics.mean(falling), 2)


CLAIMS = [
    Claim(
        name="dqn-stability",
        statement=(
            "Without its target network DQN's values pass what is possible, without"
            " replay they hardly tell a falling pole from an upright one."
        ),
        run=in_cartpole,
        criterion=(
            "upright, values pass the possible 100 if the target network alone is"
            " missing, and never with it; falling, where the truth is 1, they are"
            " higher if replay alone is missing than with both"
        ),
        holds=lambda of: (
            of["upright, both"] <= 100 < of["upright, no target network"]
            and of["upright, no replay"] <= 100
            and of["falling, both"] < of["falling, no replay"]
        ),
        share=0.8,
        y_label="value of the greedy action",
    )
]


if __name__ == "__main__":
    main(CLAIMS)
