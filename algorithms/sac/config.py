"""Hyper-parameters of SAC."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms.off_policy import OffPolicyConfig
from yieldrl.core import Coefficient, LearningRate, Steps


@dataclass(frozen=True, kw_only=True)
class Config(OffPolicyConfig):
    """Soft actor-critic; the defaults learn Pendulum-v1."""

    env_id: str = "Pendulum-v1"
    total_steps: int = 20_000

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam, of actor, critics and temperature. Too high diverges."""

    policy_delay: Steps = 1
    """Gradient steps of the critics for each one of the actor and the temperature. More
    let the critics settle before the actor follows them."""

    temperature: Coefficient | None = None
    """Weight of the policy's entropy beside the reward. Higher keeps the policy more
    random; by default it is learned, so that the entropy is `target_entropy`."""

    target_entropy: float | None = None
    """Entropy at which a learned temperature holds the policy, in nats, for actions in
    [-1, 1]. Higher keeps the policy more random; by default `-dim(A)`."""

    normalize_critic: bool = False
    """Normalise the hidden layers of the critics (Ball et al. 2023, arXiv:2302.02948).
    Their values then go less far astray where there is little data; it takes a little
    more time."""
