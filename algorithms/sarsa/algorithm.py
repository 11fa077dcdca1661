"""The mathematics of SARSA.

Rummery & Niranjan 1994, "On-line Q-learning using connectionist systems", Cambridge
University Engineering Department, CUED/F-INFENG/TR 166; the name is from Sutton 1996.
"""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning


class Algorithm(q_learning.Algorithm):
    """Q-learning whose next state is valued by what the agent is going to do there.

    Named after what an update is made of: `s, a, r, s', a'`.
    """

    def update(self, rollout: TensorDict) -> Logs:
        """One step on all transitions `[T, N]` whose next action is known.

        It is the action of the next row; after a time limit there is none. ValueError
        if the rollout has only one row.
        """
        if len(rollout) < 2:
            raise ValueError(
                "a rollout of one step does not say the next action: collect two or"
                " more, or call trainer.update, whose agent decides on it"
            )
        known = rollout[:-1].set("next_action", rollout["action"][1:])
        valid = known.get("valid", torch.ones_like(known["truncated"]))
        return super().update(known.set("valid", valid & ~known["truncated"]))

    def next_value(self, data: TensorDict) -> Tensor:
        """The value of the next state, `[B]`: `Q(s', a')`, exploring included."""
        return self.model.value(data["next_obs"], data["next_action"])
