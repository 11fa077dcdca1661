"""The agent of SARSA: decides on the next action before it learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning
from yieldrl.algorithms.q_learning import Config

from .algorithm import Algorithm


class Agent(q_learning.Agent):
    """Epsilon-greedy, one step ahead: `learn` counts on `a'`, so `sample` takes it.

    Attributes:
        promise: For every environment the state in which an action was promised, -1
            where none was, and that action; `[2, N]`.
    """

    algorithm: Algorithm

    def __init__(self, algorithm: Algorithm, config: Config) -> None:
        super().__init__(algorithm, config)
        self.promise = torch.empty(2, 0, dtype=torch.int64, device=self.device)

    def learn(self, data: TensorDict) -> Logs:
        """Decide on `a'` in every next state, and learn from `s, a, r, s', a'`.

        After a truncation `a'` is drawn like any other, but nobody will take it: the
        new episode's first action is chosen in its first state, after the update.
        """
        next_action, _ = super().explore(data["next_obs"])
        ended = data["terminated"] | data["truncated"]
        state = torch.where(ended, -1, self.algorithm.model.state(data["next_obs"]))
        self.promise = torch.stack([state, next_action])
        return super().learn(data.copy().set("next_action", next_action))

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The promised actions `[N]`, and new ones where episodes begin."""
        action, extras = super().explore(obs)
        state, promised = self.promise
        if len(state) == len(action):  # another number of states is not our episodes'
            kept = state == self.algorithm.model.state(obs)
            action = torch.where(kept, promised, action)
        return action, extras

    def state_dict(self) -> dict[str, Any]:
        """What Q-learning's agent saves, and the promise."""
        return super().state_dict() | {"promise": self.promise}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state)
        self.promise = state["promise"].to(self.device)
