"""Distributions over actions, written directly as tensor formulas."""

import math
from typing import Any, Protocol

import gymnasium as gym
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor
from torch.nn.functional import softplus

from yieldrl.core import spaces


class Distribution(Protocol):
    """A batch `[B]` of distributions over actions of one shape."""

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Sample one action per distribution, `[B, ...]`."""
        ...

    def mode(self) -> Tensor:
        """The most likely action, `[B, ...]`."""
        ...

    def log_prob(self, action: Tensor) -> Tensor:
        """Log of the probability (density) of given actions, `[B]`."""
        ...

    def entropy(self) -> Tensor:
        """Differential or discrete entropy in nats, `[B]`."""
        ...


class Categorical:
    """One choice out of `A`, from unnormalised `logits [B, A]`.

    A logit of `-inf` masks its choice: it has probability 0, is never sampled, adds
    nothing to the entropy and gets no gradient. At least one must be finite.
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        # Gumbel-max: argmax(logits + g), g = -log(Exponential(1)); no normalisation.
        noise = torch.empty_like(self.logits).exponential_(generator=generator)
        return (self.logits - noise.log_()).argmax(-1)

    def mode(self) -> Tensor:
        return self.logits.argmax(-1)

    def log_prob(self, action: Tensor) -> Tensor:
        log_p = self.logits.log_softmax(-1)
        return log_p.gather(-1, action.long().unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        log_p = self.logits.log_softmax(-1)
        finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
        return -(log_p.exp() * finite).sum(-1)  # H = -sum p log p


class MultiCategorical:
    """Several independent choices, from concatenated `logits [B, sum(counts)]`."""

    def __init__(
        self, logits: Tensor, counts: list[int], shape: tuple[int, ...]
    ) -> None:
        self.choices = [Categorical(part) for part in logits.split(counts, dim=-1)]
        self.shape = shape

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        return self._join([choice.sample(generator) for choice in self.choices])

    def mode(self) -> Tensor:
        return self._join([choice.mode() for choice in self.choices])

    def log_prob(self, action: Tensor) -> Tensor:
        flat = action.flatten(1)
        parts = [choice.log_prob(flat[:, i]) for i, choice in enumerate(self.choices)]
        return torch.stack(parts).sum(0)

    def entropy(self) -> Tensor:
        return torch.stack([choice.entropy() for choice in self.choices]).sum(0)

    def _join(self, choices: list[Tensor]) -> Tensor:
        joint = torch.stack(choices, dim=-1)
        return joint.reshape(*joint.shape[:-1], *self.shape)


class _Normals:
    """Independent normals, `mean [B, D]` and `log_std`, for actions `[B, *shape]`."""

    def __init__(self, mean: Tensor, log_std: Tensor, shape: tuple[int, ...]) -> None:
        self.mean, self.log_std, self.shape = mean, log_std, shape

    @property
    def _constant(self) -> float:
        return 0.5 * math.log(2 * math.pi) * self.mean.shape[-1]

    def _normal(self, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        noise = torch.empty_like(self.mean).normal_(generator=generator)
        return self.mean + self.log_std.exp() * noise, noise


class Gaussian(_Normals):
    """Independent normals, `mean [B, D]`, `log_std [D]`, actions `[B, *shape]`."""

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        return self._normal(generator)[0].reshape(-1, *self.shape)

    def mode(self) -> Tensor:
        return self.mean.reshape(-1, *self.shape)

    def log_prob(self, action: Tensor) -> Tensor:
        # log N(a; mu, sigma) = -((a - mu) / sigma)^2 / 2 - log sigma - log(2 pi) / 2
        z = (action.reshape(self.mean.shape) - self.mean) * (-self.log_std).exp()
        return -0.5 * z.square().sum(-1) - self.log_std.sum(-1) - self._constant

    def entropy(self) -> Tensor:
        # H = sum(log sigma) + D (1 + log(2 pi)) / 2
        total = self.log_std.sum(-1) + 0.5 * self.mean.shape[-1] + self._constant
        return total.expand(len(self.mean))


class SquashedGaussian(_Normals):
    """`tanh` of independent normals, `mean [B, D]`, `log_std [B, D]`: in [-1, 1].

    Haarnoja et al. 2018, "Soft Actor-Critic", arXiv:1801.01290, appendix C.
    """

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Sample one action each, `[B, ...]`; reparameterized, so gradients flow."""
        return torch.tanh(self._normal(generator)[0]).reshape(-1, *self.shape)

    def sample_with_log_prob(self) -> tuple[Tensor, Tensor]:
        """One sample each, `[B, ...]`, and its log-density in [-1, 1], `[B]`."""
        normal, noise = self._normal(None)
        # log N(u; mu, sigma) - log|d tanh u / du|, and the last term computed without
        # 1 - tanh^2 u, which float32 rounds to zero from |u| = 9 on:
        # log(1 - tanh^2 u) = 2 (log 2 - u - softplus(-2 u)).
        slope = 2 * (math.log(2) - normal - softplus(-2 * normal))
        log_prob = -0.5 * noise.square() - self.log_std - slope
        action = torch.tanh(normal).reshape(-1, *self.shape)
        return action, log_prob.sum(-1) - self._constant

    def mode(self) -> Tensor:
        """`tanh(mean)`, `[B, ...]`: the squashed mode of the normal."""
        return torch.tanh(self.mean).reshape(-1, *self.shape)


def action_size(space: gym.Space[Any]) -> int:
    """The size of an actor's output for a space; or TypeError."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, MultiBinary):
        return 2 * math.prod(space.shape)
    if isinstance(space, Box):
        return math.prod(space.shape)
    remedy = "use Discrete, MultiDiscrete, MultiBinary or Box"
    raise TypeError(f"action space {space} is not supported: {remedy}")


def make_distribution(
    space: gym.Space[Any],
    output: Tensor,
    log_std: Tensor | None,
    counts: list[int] | None = None,
) -> Distribution:
    """The float32 distribution parameterized by an actor's `output [B, action_size]`.

    Args:
        space: Of one action.
        output: Logits, or a Gaussian's means.
        log_std: Logarithm of a Gaussian's standard deviations.
        counts: `spaces.choices(space)`, which compiled code cannot compute itself.
    """
    if output.dtype == torch.bfloat16:
        output = output.float()
    if isinstance(space, Discrete):
        return Categorical(output)
    if isinstance(space, MultiDiscrete | MultiBinary):
        counts = spaces.choices(space) if counts is None else counts
        return MultiCategorical(output, counts, space.shape)
    assert isinstance(space, Box)
    assert log_std is not None
    return Gaussian(output, log_std, space.shape)
