"""The mean gradient of group advantages, beside that of the expected return."""

import importlib
import math
import statistics
from itertools import combinations_with_replacement
from typing import Any

import torch
from gymnasium.spaces import Box, Discrete
from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import one_hot

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

SIDES = {
    "rloo": "RLOO",
    "dr_grpo": "Dr. GRPO",
    "grpo": "GRPO, DAPO, GSPO",
    "reinforce_pp": "REINFORCE++, 4 groups",
}
ARMS, SIZES = 4, range(2, 7)
TOGETHER = {"reinforce_pp": 4}  # groups that have one mean and standard deviation
STEPS, LENGTH = 150, 0.25  # of ascent at most, and how far the logits go in each


def train(seed: int) -> dict[str, Any]:
    """Each algorithm with groups of each size, on one bandit."""
    generator = torch.Generator().manual_seed(seed)
    logits, rewards = torch.randn(2, ARMS, generator=generator)
    rewards -= logits.softmax(0) @ rewards
    rewards /= (logits.softmax(0) @ rewards.square()).sqrt()
    runs = [
        {"side": side, "seed": seed, "size": size}
        | compared(Groups(side, size, rewards), logits, rewards)
        for side in SIDES
        for size in SIZES
    ]
    return {"runs": runs}


def compared(groups: "Groups", logits: Tensor, rewards: Tensor) -> dict[str, float]:
    """The mean gradient beside the exact one, and after how many steps its way the best
    arm has a probability of 0.99."""
    wanted, found = differences(logits, rewards), groups.gradient(logits)
    steps, best = 0, rewards.argmax()
    while logits.softmax(0)[best] < 0.99 and steps < STEPS:
        step = groups.gradient(logits)
        logits, steps = logits + LENGTH * step / step.norm(), steps + 1
    numbers = {
        "ratio": found.norm() / wanted.norm(),
        "cosine": found @ wanted / found.norm() / wanted.norm(),
        "error": (found - wanted).norm() / wanted.norm(),
    }
    rounded = {name: round(float(x), 6) for name, x in numbers.items()}
    return {**rounded, "steps": steps}


def differences(logits: Tensor, rewards: Tensor) -> Tensor:
    """The gradient of the expected return, by central finite differences."""
    steps = 1e-5 * torch.eye(ARMS, dtype=torch.float64)
    up, down = ((logits + s * steps).softmax(1) @ rewards.double() for s in (1, -1))
    return ((up - down) / 2e-5).float()


class Groups:
    """All groups of arms that can be drawn, in one order each, and an algorithm."""

    def __init__(self, side: str, size: int, rewards: Tensor) -> None:
        module: Any = importlib.import_module(f"yieldrl.algorithms.{side}")
        fields: Any = {"group_size": size, "num_envs": size, "hidden_sizes": ()}
        config = module.Config(**fields, demonstration_steps=0, device="cpu")
        model = module.Model(Box(-1, 1, (1,)), Discrete(ARMS), config)
        self.logits = [*model.actor.parameters()][-1]  # the bias, for what is seen is 0
        self.algorithm = module.Algorithm(model, config)
        together = TOGETHER.get(side, 1)
        drawn = size * together
        arms = torch.tensor([*combinations_with_replacement(range(ARMS), drawn)])
        self.action, self.counts = arms.view(-1, 1), one_hot(arms, ARMS).sum(1).float()
        orders = torch.lgamma(self.counts + 1).sum(1)
        self.orders = math.lgamma(drawn + 1) - orders  # logarithms of how many
        counted = torch.ones(together, size, dtype=torch.bool)
        returns = rewards[arms].view(-1, together, size)
        each = [self.algorithm.relative(of, counted) for of in returns]
        self.advantage = torch.stack(each).view(-1, drawn)

    def gradient(self, logits: Tensor) -> Tensor:
        """That of the objective, a mean over all groups by their probability."""
        self.logits.data.copy_(logits)
        chance = (self.orders + self.counts @ logits.log_softmax(0)).exp()
        weights = len(chance) * chance  # the loss is a mean over them
        every = torch.ones_like(self.action, dtype=torch.bool)
        data = {
            "obs": torch.zeros(*self.action.shape, 1),
            "action": self.action,
            "log_prob": logits.log_softmax(0)[self.action],
            "advantage": (self.advantage * weights.unsqueeze(1)).view(-1, 1),
            "valid": every,
            "used": every,
        }
        episodes = self.algorithm.measured(TensorDict(data, [*self.action.shape]))
        loss, _ = self.algorithm.loss(episodes)
        return -torch.autograd.grad(loss, self.logits)[0]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, label in SIDES.items():
        of, steps = some(runs, side=side), values(runs, "steps", side=side)
        row = [label, *(f"{mean(of, 'ratio', size=size):.3f}" for size in (2, 6))]
        for size in (2, 6):
            cosines = values(of, "cosine", size=size)
            row.append(f"{statistics.mean(cosines):.3f} ({min(cosines):.3f})")
        many = f"{statistics.median(steps):.0f} ({min(steps)} to {max(steps)})"
        rows.append([*row, many])
    header = ["advantage", "length: G = 2", "G = 6", "cosine: G = 2", "G = 6 "]
    return [*header, "steps to the best arm"], rows


def judge(runs: Runs) -> list[Demand]:
    words = "RLOO: the difference from finite differences, relative"
    error = max(values(runs, "error", side="rloo"))
    apart = max(
        abs(run["ratio"] - (run["size"] - 1) / run["size"])
        for run in some(runs, side="dr_grpo")
    )
    shorter = "Dr. GRPO: its length is (G - 1) / G; the difference from that"
    best = "steps until the best arm has a probability of 0.99, at most"
    steps = {of: max(values(runs, "steps", side=side)) for side, of in SIDES.items()}
    return [
        at_most(words, error, 1.0e-5),
        at_most(shorter, apart, 1.0e-5),
        *(at_most(f"{label}: {best}", most, 149) for label, most in steps.items()),
    ]


def draw(axes: Any, runs: Runs) -> None:
    """A line over sizes for each algorithm, with its interval over bandits."""
    found: dict[str, Any] = {}
    for side, label in SIDES.items():
        sizes = [values(runs, "ratio", side=side, size=size) for size in SIZES]
        rows = zip(*sizes, strict=True)
        found[label] = [[*zip(SIZES, ratios, strict=True)] for ratios in rows]
    lines(axes, found)


CLAIMS = [
    Trial(
        name="writing-gradient",
        statement=(
            "The mean over all groups of a bandit's arms of the gradient that an"
            " advantage gives: RLOO's is that of the expected return, Dr. GRPO's is"
            " shorter by 1 / G, and those of GRPO and REINFORCE++ point elsewhere, and"
            " lead to the best arm too."
        ),
        settings={
            "arms": ARMS,
            "sizes": [*SIZES],
            "together": TOGETHER,
            "steps": STEPS,
            "length": LENGTH,
        },
        run=train,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "A bandit of four arms, all groups of G",
            "xlabel": "G",
            "xticks": [*SIZES],
            "ylabel": "length, over the exact gradient's",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
