"""Hyper-parameters of SAC for discrete actions."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import sac
from yieldrl.foundations import UnitInterval, Widths


@dataclass(frozen=True, kw_only=True)
class Config(sac.Config):
    """Soft actor-critic for discrete actions; the defaults learn CartPole-v1."""

    env_id: str = "CartPole-v1"
    """Id of a registered environment whose action is one choice, for example
    `CartPole-v1` or `ALE/Pong-v5`; `my_module:MyEnv-v0` imports `my_module` first."""

    total_steps: int = 30_000
    tau: float = 0.02
    hidden_sizes: Widths = (64, 64)

    target_entropy: float | None = None
    """Entropy at which a learned temperature holds the policy, in nats. Higher is more
    random; by default `entropy_share` of the greatest, `log A` for A actions."""

    entropy_share: UnitInterval = 0.5
    """Share of the greatest entropy that becomes the target where `target_entropy`
    names none. Higher keeps the policy more random; the paper has 0.98."""
