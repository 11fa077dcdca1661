"""Hyper-parameters of PPO with action masks."""

from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO with action masks; the defaults learn Taxi-v4 in 200 000 steps."""

    env_id: str = "Taxi-v4"
    """Id of a registered environment that says which actions are possible: by
    `info["action_mask"]`, a method `action_masks()`, or in Dict observations."""

    num_envs: int = 8
    total_steps: int = 200_000

    wrappers: tuple[str, ...] = ("yieldrl.envs:ActionMask",)
    """Wrappers to put around every environment, the innermost first. `ActionMask`
    brings the mask into the observation; vector environments must do so themselves."""
