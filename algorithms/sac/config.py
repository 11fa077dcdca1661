"""Hyper-parameters of SAC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from yieldrl.algorithms import td3
from yieldrl.foundations import Coefficient, Range


@dataclass(frozen=True, kw_only=True)
class Config(td3.Config):
    """Soft actor-critic; the defaults learn Pendulum-v1."""

    # The policy is random itself, when it acts and in the target: no noise is added.
    exploration_noise: ClassVar[float] = 0.0
    policy_noise: ClassVar[float] = 0.0
    noise_clip: ClassVar[float] = 0.0

    policy_delay: int = 1
    """Gradient steps of the critics for each one of the actor and the temperature. More
    let the critics settle before the actor follows them."""

    target_every: int = 1
    """Gradient steps between synchronisations of the target critics. More make targets
    steadier and learning slower."""

    temperature: Coefficient | None = None
    """Weight of the policy's entropy beside the reward. Higher keeps the policy more
    random; by default it is learned, so that the entropy is `target_entropy`."""

    target_entropy: Annotated[float, Range(-1e6, 1e6)] | None = None
    """Entropy at which a learned temperature holds the policy, in nats, for actions in
    [-1, 1]. Higher keeps the policy more random; by default `-dim(A)`."""
