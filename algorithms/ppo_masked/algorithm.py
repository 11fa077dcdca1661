"""The mathematics of PPO with action masks.

Huang & Ontañón 2020, "A Closer Look at Invalid Action Masking in Policy Gradient
Algorithms", arXiv:2006.14171.
"""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Dict
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.core import spaces


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


class Model(ppo.Model):
    """Logits of impossible actions are `-inf`, whatever the network says.

    Then they have probability 0, and so they are never sampled, never the most likely,
    and their logits get no gradient (Huang & Ontañón 2020, section 3).

    Observations are a Dict with `action_mask [A]`, which the networks do not see. The
    masks of several choices lie one behind the other, as their logits do. TypeError if
    there is no mask in the observations, or no choice in the actions.
    """

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        options = sum(spaces.choices(action_space))
        entries = getattr(observation_space, "spaces", {})
        mask = entries.get("action_mask")
        if mask is None or mask.shape != (options,) or len(entries) < 2:
            raise TypeError(
                f"ppo_masked needs Dict observations with an 'action_mask' of {options}"
                f" values beside what else there is to see, got {observation_space}:"
                " leave 'yieldrl.envs:ActionMask' in wrappers, or take PPO"
            )
        seen = {name: entries[name] for name in entries if name != "action_mask"}
        super().__init__(Dict(seen), action_space, config)
        self.observation_space = observation_space

    @property
    def needed_obs(self) -> tuple[str, ...]:
        """The observations that the actor reads, and the mask."""
        return self.actor_obs and (*self.actor_obs, "action_mask")

    def actor_output(self, features: Tensor, obs: Any) -> Tensor:
        """Logits `[B, A]`, masked."""
        logits = super().actor_output(features, obs)
        return logits.masked_fill(~obs["action_mask"].bool(), -torch.inf)


class Algorithm(ppo.Algorithm):
    """PPO's own: the masks are in the observations, and the model reads them there.

    The ratio compares two policies with the same mask, so it stays a proper ratio.
    """

    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Check the masks, then prepare as PPO; ValueError if no action was possible.

        It is checked once a rollout, as a check at every step would make a GPU wait.
        """
        mask = rollout["obs", "action_mask"].bool()
        parts = mask.split(spaces.choices(self.model.action_space), dim=-1)
        stuck = ~torch.stack([part.any(-1) for part in parts]).all(0)
        if "valid" in rollout.keys():  # noqa: SIM118 - it iterates over the batch
            stuck &= rollout["valid"]
        if stuck.any():
            step, env = stuck.nonzero()[0].tolist()
            raise ValueError(
                f"environment {env} gave a mask that leaves no action possible, at step"
                f" {step} of the rollout: {mask[step, env].int().tolist()}. An"
                " environment with nothing left to do must terminate"
            )
        return super().prepare(rollout)


class Trainer(ppo.Trainer):
    """PPO in environments that say which actions are possible."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
