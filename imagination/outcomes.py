"""Heads of a world model that predict the reward and the end of a step."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from yieldrl.imagination.symlog import TwoHot
from yieldrl.imagination.three_classes import (
    GOES_ON,
    SUCCESS,
    BalancedClasses,
    decode_reward_termination,
    encode_reward_termination,
)
from yieldrl.networks import Categorical


class Outcome(NamedTuple):
    """Predicted reward and end of steps `[...]`."""

    reward: Tensor  # float32, the expected one
    end: Tensor  # float32, the probability that the step ends
    terminated: Tensor  # bool, the prediction
    certain_reward: Tensor  # float32, the reward if `terminated` is right


class OutcomeHead(nn.Module, ABC):
    """Reads `outputs` numbers of a network, `[..., outputs]`, as an outcome `[...]`."""

    outputs: int

    @abstractmethod
    def fit_to(self, reward: Tensor, terminated: Tensor) -> None:
        """Take scales and weights from steps `[B]`, before learning from them."""

    def check(self, reward: Tensor, terminated: Tensor) -> None:
        """ValueError if it cannot predict the rewards or ends of steps `[...]`."""

    @abstractmethod
    def loss(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The loss of each step `[...]`."""

    def error(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The error, `[...]`, by which fits are compared; never negative."""
        return self.loss(raw, reward, terminated)

    @abstractmethod
    def forward(self, raw: Tensor, generator: torch.Generator | None = None) -> Outcome:
        """The predictions for steps `[...]`; with a generator they may be sampled."""


class ThreeClasses(OutcomeHead):
    """Goes on, ended, success: for rewards of 1 that end an episode, and no others."""

    outputs = 3

    def __init__(self) -> None:
        super().__init__()
        self.classes = BalancedClasses(3)

    def fit_to(self, reward: Tensor, terminated: Tensor) -> None:
        """Weigh the classes; ValueError if a step has none of the three."""
        self.classes.fit_to(encode_reward_termination(reward, terminated))

    def check(self, reward: Tensor, terminated: Tensor) -> None:
        encode_reward_termination(reward, terminated)

    def loss(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """Cross-entropy, in which each class counts alike after `fit_to`, `[...]`."""
        classes = terminated.long() + (reward > 0.5).long()  # see `check`
        return self.classes.loss(raw, classes)

    def forward(self, raw: Tensor, generator: torch.Generator | None = None) -> Outcome:
        """The likeliest class, or a sampled one.

        Where success is rare it is never the likeliest, and a policy would learn that
        nothing succeeds.
        """
        probability = self.classes.probabilities(raw)
        classes = Categorical(probability.log())
        found = classes.mode() if generator is None else classes.sample(generator)
        reward, terminated = decode_reward_termination(found)
        expected = probability[..., SUCCESS]
        return Outcome(expected, 1 - probability[..., GOES_ON], terminated, reward)


class RewardAndEnd(OutcomeHead):
    """A reward of any size and, apart from it, whether the step ends.

    The reward is a Gaussian, in units of the rewards' standard deviation, so that it is
    learned as finely as it can be beside other Gaussians; or with `two_hot` a
    distribution over bins, for rewards of very different sizes.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, two_hot: TwoHot | None = None) -> None:
        super().__init__()
        self.two_hot, self.ends = two_hot, BalancedClasses(2)
        self.outputs = 2 + (2 if two_hot is None else len(two_hot.bins))
        self.register_buffer("mean", torch.zeros((), dtype=torch.float32))
        self.register_buffer("std", torch.ones((), dtype=torch.float32))

    def fit_to(self, reward: Tensor, terminated: Tensor) -> None:
        self.ends.fit_to(terminated.long())
        std, mean = torch.std_mean(reward.float(), correction=0)
        self.mean.copy_(mean)
        self.std.copy_(std.where(std > 1e-6, 1.0))

    def loss(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The loss of the Gaussian or of the bins, plus that of the end, `[...]`."""
        of_end = self.ends.loss(raw[..., :2], terminated.long())
        if self.two_hot is not None:
            return of_end + self.two_hot.loss(raw[..., 2:], reward)
        log_var = soft_clamp(raw[..., 3], *LOG_VAR)
        square = self._square(raw, reward)
        return of_end + 0.5 * (square * (-log_var).exp() + log_var)

    def error(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The squared error of a Gaussian's mean, whatever its variance, `[...]`."""
        if self.two_hot is not None:
            return self.loss(raw, reward, terminated)
        of_end = self.ends.loss(raw[..., :2], terminated.long())
        return of_end + self._square(raw, reward)

    def forward(self, raw: Tensor, generator: torch.Generator | None = None) -> Outcome:
        """An end where its probability is over 1/2, as if tasks end by a rule."""
        end = self.ends.probabilities(raw[..., :2])[..., 1]
        if self.two_hot is None:
            reward = self.mean + self.std * raw[..., 2]
        else:
            reward = self.two_hot.mean(raw[..., 2:])
        return Outcome(reward, end, end > 0.5, reward)

    def _square(self, raw: Tensor, reward: Tensor) -> Tensor:
        return ((reward - self.mean) / self.std - raw[..., 2]).square()


LOG_VAR = (-10.0, 0.5)
"""Bounds of a reward's log-variance, in standardized units: no division by 0."""


def soft_clamp(x: Tensor, low: Any, high: Any) -> Tensor:
    """`x` where it is well within the bounds, and never beyond them (PETS, A.1)."""
    x = high - softplus(high - x)
    return low + softplus(x - low)


def outcome_head(kind: str) -> OutcomeHead:
    """The head of that name: `number`, `symlog` or `three_classes`."""
    if kind == "three_classes":
        return ThreeClasses()
    return RewardAndEnd(TwoHot() if kind == "symlog" else None)
