"""Hyper-parameters of SAC."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import td3


@dataclass(frozen=True, kw_only=True)
class Config(td3.Config):
    """Soft actor-critic; the defaults learn Pendulum-v1."""

    policy_delay: int = 1
    """Gradient steps of the critics for each one of the actor and the temperature."""

    target_every: int = 1
    """Gradient steps between synchronisations of the target critics."""

    exploration_noise: float = 0.0
    """No noise from outside: the policy throws its own dice."""

    policy_noise: float = 0.0
    """None either: the next action is drawn from the policy."""

    noise_clip: float = 0.0
    """Nor is there anything to clip."""

    temperature: float | None = None
    """Weight of the entropy beside the reward; by default it is learned."""

    target_entropy: float | None = None
    """Entropy that a learned temperature holds; by default `-dim(A)`, for actions in
    [-1, 1]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("exploration_noise", "policy_noise", "noise_clip"):
            if getattr(self, name) != 0:
                raise self.error(name, "leave it at 0, the policy is random itself")
        if self.temperature is not None:
            self._check_range("temperature", low=0)
