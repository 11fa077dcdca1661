"""Heads of a world model that predict the reward and the end of a step."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softplus

from yieldrl.networks import Categorical


def symlog(x: Tensor) -> Tensor:
    """`sign(x) log(1 + |x|)`.

    Hafner et al. 2023, "Mastering Diverse Domains through World Models",
    arXiv:2301.04104, equation 9.
    """
    return x.sign() * x.abs().log1p()


def symexp(x: Tensor) -> Tensor:
    """The inverse of `symlog`: `sign(x) (exp(|x|) - 1)`."""
    return x.sign() * x.abs().expm1()


class TwoHot(nn.Module):
    """A distribution over `symexp` of evenly spaced numbers, whose mean is the answer.

    Hafner et al. 2023, arXiv:2301.04104, equations 10 and 11. The size of a gradient
    depends on how wrong the probabilities are, not on how large the numbers; and as the
    two bins beside a number share it in proportion, the mean is exact.

    Args:
        bins: Number of bins, odd, so that 0 is one.
        limit: The outermost bins are `symexp(limit)` and minus that; larger numbers
            count as these.
    """

    bins: Tensor

    def __init__(self, bins: int = 63, limit: float = 10.0) -> None:
        super().__init__()
        half = symexp(torch.linspace(0, limit, bins // 2 + 1, dtype=torch.float32))
        self.register_buffer("bins", torch.cat([-half[1:].flip(0), half]))

    def encode(self, x: Tensor) -> Tensor:
        """Probabilities `[..., bins]` with the mean `x [...]`, of the two beside it."""
        x = x.to(self.bins).clamp(self.bins[0], self.bins[-1])
        above = torch.searchsorted(self.bins, x.contiguous()).clamp(min=1)
        low, high = self.bins[above - 1], self.bins[above]
        share = ((x - low) / (high - low)).unsqueeze(-1)
        above = above.unsqueeze(-1)
        coded = x.new_zeros(*x.shape, len(self.bins))
        return coded.scatter(-1, above - 1, 1 - share).scatter(-1, above, share)

    def loss(self, logits: Tensor, x: Tensor) -> Tensor:
        """Cross-entropy `[...]` of logits `[..., bins]` with the two-hot code."""
        return -(self.encode(x) * logits.log_softmax(-1)).sum(-1)

    def mean(self, logits: Tensor) -> Tensor:
        """The mean, `[...]`, of the distribution of logits `[..., bins]`."""
        return (logits.softmax(-1) * self.bins).sum(-1)


GOES_ON, ENDED, SUCCESS = range(3)
"""Classes of steps: it goes on, ends, or ends with a reward of 1, its success."""


def encode_reward_termination(reward: Tensor, terminated: Tensor) -> Tensor:
    """The class of every step, int64, of any shape.

    A truncation is no end: the world would have gone on.

    Args:
        reward: Float, 0 or 1 each.
        terminated: Bool, the same shape.

    Raises:
        ValueError: If a reward is neither 0 nor 1, or a step is rewarded and goes on.

    >>> reward, ended = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([False, True, True])
    >>> encode_reward_termination(reward, ended)
    tensor([0, 1, 2])
    """
    rewarded = reward == 1
    odd = ~rewarded & (reward != 0)
    if bool((odd | (rewarded & ~terminated)).any()):
        if odd.any():
            raise ValueError(
                f"three classes know rewards of 0 and 1 alone, got {reward[odd][0]:g}:"
                " choose outcome='number' or 'symlog'"
            )
        raise ValueError(
            "a step has a reward of 1 and goes on, which is none of the three classes:"
            " end the episode with its success, or choose outcome='number'"
        )
    return terminated.long() + rewarded.long()


def class_weights(classes: Tensor, count: int, most: float = 20.0) -> Tensor:
    """Weights of the classes, `[count]`: `n / (count n_c)`, at most `most`.

    Then each class counts as much as every other, but no rare end dominates the loss.
    One that never came counts 1.

    >>> class_weights(torch.tensor([0, 0, 0, 1]), 2)
    tensor([0.6667, 2.0000])
    """
    known = torch.arange(count, device=classes.device)
    counts = (classes.flatten().unsqueeze(1) == known).sum(0).float()
    weights = classes.numel() / (count * counts.clamp(min=1))
    return torch.where(counts > 0, weights.clamp(max=most), 1.0)


def recall_of_ends(end: Tensor, terminated: Tensor) -> Tensor:
    """The share of ended steps whose end was predicted, 0-dim.

    Accuracy says nothing where one step in a hundred ends. NaN where none did.

    Args:
        end: Probabilities that a step ends, of any shape.
        terminated: Whether it did, bool, the same shape.
    """
    return ((end > 0.5) & terminated).sum() / terminated.sum()


class Outcome(NamedTuple):
    """Predicted reward and end of steps `[...]`."""

    reward: Tensor  # float32, the expected one
    end: Tensor  # float32, the probability that the step ends
    terminated: Tensor  # bool, the prediction
    certain_reward: Tensor  # float32, the reward if `terminated` is right


class OutcomeHead(nn.Module, ABC):
    """Reads `outputs` numbers of a network, `[..., outputs]`, as an outcome `[...]`.

    Some classes of steps are rare. Cross-entropy with `weights [count]`, those of
    `class_weights` after `fit_to`, learns `q_c ~ w_c p_c`, so `probabilities` divides
    by them again: what is rare is learned sooner, and is not predicted too often.
    """

    outputs: int
    weights: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.ones(count, dtype=torch.float32))

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

    def class_loss(self, logits: Tensor, classes: Tensor) -> Tensor:
        """`-w_c log q_c`, `[...]`, of logits `[..., count]`."""
        flat = logits.flatten(0, -2), classes.flatten()
        return cross_entropy(*flat, self.weights, reduction="none").view(classes.shape)

    def probabilities(self, logits: Tensor) -> Tensor:
        """`p_c`, `[..., count]`, without the effect of the weights."""
        return (logits - self.weights.log()).softmax(-1)


class ThreeClasses(OutcomeHead):
    """Goes on, ended, success: for rewards of 1 that end an episode, and no others."""

    outputs = 3

    def __init__(self) -> None:
        super().__init__(3)

    def fit_to(self, reward: Tensor, terminated: Tensor) -> None:
        """Weigh the classes; ValueError if a step has none of the three."""
        classes = encode_reward_termination(reward, terminated)
        self.weights.copy_(class_weights(classes, 3))

    def check(self, reward: Tensor, terminated: Tensor) -> None:
        encode_reward_termination(reward, terminated)

    def loss(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """Cross-entropy, in which each class counts alike after `fit_to`, `[...]`."""
        classes = terminated.long() + (reward > 0.5).long()  # see `check`
        return self.class_loss(raw, classes)

    def forward(self, raw: Tensor, generator: torch.Generator | None = None) -> Outcome:
        """The likeliest class, or a sampled one.

        Where success is rare it is never the likeliest, and a policy would learn that
        nothing succeeds.
        """
        probability = self.probabilities(raw)
        classes = Categorical(probability.log())
        drawn = classes.mode() if generator is None else classes.sample(generator)
        expected, end = probability[..., SUCCESS], 1 - probability[..., GOES_ON]
        return Outcome(expected, end, drawn != GOES_ON, (drawn == SUCCESS).float())


class RewardAndEnd(OutcomeHead):
    """A reward of any size and, apart from it, whether the step ends.

    The reward is a Gaussian, in units of the rewards' standard deviation, so that it is
    learned as finely as it can be beside other Gaussians; or with `two_hot` a
    distribution over bins, for rewards of very different sizes.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, two_hot: TwoHot | None = None) -> None:
        super().__init__(2)
        self.two_hot = two_hot
        self.outputs = 2 + (2 if two_hot is None else len(two_hot.bins))
        self.register_buffer("mean", torch.zeros((), dtype=torch.float32))
        self.register_buffer("std", torch.ones((), dtype=torch.float32))

    def fit_to(self, reward: Tensor, terminated: Tensor) -> None:
        self.weights.copy_(class_weights(terminated.long(), 2))
        std, mean = torch.std_mean(reward.float(), correction=0)
        self.mean.copy_(mean)
        self.std.copy_(std.where(std > 1e-6, 1.0))

    def loss(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The loss of the Gaussian or of the bins, plus that of the end, `[...]`."""
        if self.two_hot is None:
            log_var = soft_clamp(raw[..., 3], *LOG_VAR)
            square = self._square(raw, reward)
            of_reward = 0.5 * (square * (-log_var).exp() + log_var)
        else:
            of_reward = self.two_hot.loss(raw[..., 2:], reward)
        return of_reward + self.class_loss(raw[..., :2], terminated.long())

    def error(self, raw: Tensor, reward: Tensor, terminated: Tensor) -> Tensor:
        """The squared error of a Gaussian's mean, whatever its variance, `[...]`."""
        if self.two_hot is not None:
            return self.loss(raw, reward, terminated)
        of_end = self.class_loss(raw[..., :2], terminated.long())
        return of_end + self._square(raw, reward)

    def forward(self, raw: Tensor, generator: torch.Generator | None = None) -> Outcome:
        """An end where its probability is over 1/2, as if tasks end by a rule."""
        end = self.probabilities(raw[..., :2])[..., 1]
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
