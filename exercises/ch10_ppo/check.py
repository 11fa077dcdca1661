"""What holds of PPO's policy loss."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.cases import Chapter

GOOD_BAD = torch.tensor([7.0, 1.0, 2.0, 4.5, 5.0, 3.0])


def _case(*ratio: float, advantage: Tensor = GOOD_BAD) -> list[Any]:
    """Arguments of `policy_loss`: six transitions, good, bad, bad, good, good, bad."""
    old = torch.tensor([-0.5, -1.0, -2.0, -0.25, -1.5, -0.75])
    return [old + torch.tensor(ratio).log(), old, advantage, 0.2]


# Ratios outside of the interval in the direction that pays, and in the other.
MIXED = _case(1.6, 0.5, 1.7, 0.4, 1.1, 0.9)
SETTINGS = {"total_steps": 128, "num_envs": 2, "num_steps": 32, "num_minibatches": 2}
SETTINGS |= {"learning_rate": 0.01, "hidden_sizes": (16,), "seed": 10}
# The standard deviation of a population will do as well as that of a sample.
CHAPTER = Chapter(__name__, also=[("a.std()", "a.std(correction=0)")])
CHAPTER.same(
    "policy_loss",
    "Within the interval it is minus the mean of ratio times normalised advantage",
    _case(1.15, 0.9, 1.05, 0.85, 1.1, 0.95),
    "Where all advantages are alike it is 0, and not NaN",
    _case(1.1, 0.9, 1.0, 0.8, 1.3, 1.0, advantage=torch.full((6,), 2.0)),
    "Of plain and clipped objective the smaller one counts, for each transition",
    MIXED,
    _case(0.5, 1.8, 1.7, 0.4, 1.1, 0.9),
    named="loss",
)
CHAPTER.gradient(
    "A ratio that gained enough gets no gradient; one that went wrong is corrected",
    "policy_loss",
    MIXED,
)
CHAPTER.constant(
    "Old log-probabilities and advantages are constants, and stay as they were",
    ("policy_loss", MIXED),
    of=[1, 2],
    hint="detach old_log_prob and advantage: nothing of the rollout learns here",
)
CHAPTER.trains(
    "PPO that uses it has the library's own loss on every minibatch",
    SETTINGS,
    Algorithm=ppo,
)
