"""The actor-critic network of PPO, whose actor leaves out what is impossible."""

from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Dict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces

from .config import Config


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
