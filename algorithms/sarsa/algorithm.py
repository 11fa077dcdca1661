"""The mathematics of SARSA.

Rummery & Niranjan 1994, "On-line Q-learning using connectionist systems", Cambridge
University Engineering Department, CUED/F-INFENG/TR 166; the name is from Sutton 1996.
"""

from collections.abc import Mapping
from typing import Any

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning
from yieldrl.core import SyncOnly


@dataclass(frozen=True, kw_only=True)
class Config(SyncOnly, q_learning.Config):
    """SARSA with a table; it has Q-learning's hyper-parameters.

    The learner decides on the next action: nobody can act before it has learned.
    """


class Algorithm(q_learning.Algorithm):
    """Q-learning whose next state is valued by what the agent is going to do there.

    Named after what an update is made of: `s, a, r, s', a'`.
    """

    def next_value(self, data: TensorDict) -> Tensor:
        """The value of the next state, `[B]`: `Q(s', a')`, exploring included."""
        return self.model.value(data["next_obs"], data["next_action"])


UNDECIDED = -1  # no next action chosen yet


class Agent(q_learning.Agent):
    """Epsilon-greedy, one step ahead: `learn` counts on `a'`, so `sample` takes it.

    Attributes:
        planned: For every environment the next state, -1 where its episode ended, and
            the action that was decided on there; int64 `[2, N]`.
    """

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.planned = torch.empty(2, 0, dtype=torch.int64, device=self.device)

    def learn(self, data: TensorDict) -> Logs:
        """Decide on `a'` in every next state, and learn from `s, a, r, s', a'`.

        After a truncation `a'` is drawn like any other, but nobody will take it: the
        new episode's first action is chosen in its first state, after the update. Of a
        rollout, `next_action [N]` is what was done in the next state.
        """
        next_action, _ = super().explore(data["next_obs"])
        ended = data["terminated"] | data["truncated"]
        chosen = data.get("next_action", None)
        if chosen is not None:
            decided = (chosen != UNDECIDED) & ~ended
            next_action = torch.where(decided, chosen, next_action)
        state = torch.where(ended, -1, self.algorithm.model.state(data["next_obs"]))
        self.planned = torch.stack([state, next_action])
        return super().learn(data.copy().set("next_action", next_action))

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The actions decided on, `[N]`, and new ones where episodes begin."""
        action, extras = super().explore(obs)
        state, planned = self.planned
        if len(state) == len(action):  # else they are other environments
            kept = state == self.algorithm.model.state(obs)
            action = torch.where(kept, planned, action)
        return action, extras

    def state_dict(self) -> dict[str, Any]:
        """The state of Q-learning's agent, and the actions chosen in advance."""
        return super().state_dict() | {"planned": self.planned}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state)
        self.planned = state["planned"].to(self.device)


class Trainer(q_learning.Trainer):
    """Take a step, decide on the next action, learn from both."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
    agent_class = Agent

    def update(self, rollout: TensorDict) -> Logs:
        """Learn row by row; the next action is the one that was taken, if it is there.

        After the last row the agent decides on it, as in the loop.
        """
        action = rollout["action"]
        chosen = torch.cat([action[1:], torch.full_like(action[:1], UNDECIDED)])
        return super().update(rollout.copy().set("next_action", chosen))
