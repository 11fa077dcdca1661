"""The mathematics of PPO with action masks.

Huang & Ontañón 2020, "A Closer Look at Invalid Action Masking in Policy Gradient
Algorithms", arXiv:2006.14171.
"""

import torch
from tensordict import TensorDict

from yieldrl.algorithms import ppo
from yieldrl.foundations import spaces


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
