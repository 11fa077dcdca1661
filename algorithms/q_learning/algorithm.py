"""The mathematics of Q-learning.

Watkins 1989, "Learning from Delayed Rewards", PhD thesis, Cambridge; Watkins & Dayan
1992, "Q-learning", Machine Learning 8:279-292.
"""

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.buffers import selected

from .config import Config
from .model import Model


class Algorithm(abstractions.Algorithm):
    """Move `Q(s, a)` a step towards what was seen to follow from it.

    How the next state is valued is a method, `next_value`: what a variant overrides.

    Attributes:
        visits: How often each entry of the table was updated, `[S, A]`.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.visits = torch.zeros_like(self.model.table)
        parameters, rate = self.model.parameters(), config.learning_rate
        self.optimizer = torch.optim.SGD(parameters, lr=rate)  # holds the rate

    def predict(self, obs: Tensor) -> Tensor:
        """The greedy action `[B]`; of several equally good ones the first."""
        return self.model.value(obs).argmax(1)

    def next_value(self, data: TensorDict) -> Tensor:
        """The value of the next state, `[B]`: `max_a' Q(s', a')`."""
        return self.model.value(data["next_obs"]).amax(1)

    def td_target(self, data: TensorDict) -> Tensor:
        """`r + gamma V(s')`, `[B]`; only a termination ends the future."""
        future = data.get("discount", self.config.gamma) * self.next_value(data)
        return data["reward"] + future * ~data["terminated"]

    def learn(self, data: TensorDict) -> Logs:
        """`Q(s, a) += alpha (td_target - Q(s, a))` for every transition of `[B]`."""
        if "valid" in data.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            data = selected(data, data["valid"])  # skip steps that only reset
        state, action = self.model.state(data["obs"]), data["action"]
        td_error = self.td_target(data) - self.model.table[state, action]
        update = self.entry_rate(state, action) * td_error
        self.model.table.index_put_((state, action), update, accumulate=True)
        return {"td_error": td_error.abs().mean(), "learning_rate": self.learning_rate}

    def entry_rate(self, state: Tensor, action: Tensor) -> Tensor:
        """The step size of each transition, `[B]`: `learning_rate / n^omega`.

        `n` counts the entry's updates, these included. Transitions of one entry add up,
        but together they take it no further than to the mean of their targets.
        """
        before = self.visits[state, action]
        once = torch.ones_like(before)
        self.visits.index_put_((state, action), once, accumulate=True)
        visits = self.visits[state, action]
        alpha = self.learning_rate * visits**-self.config.visit_power
        return torch.minimum(alpha, (visits - before).reciprocal())

    def state_dict(self) -> dict[str, Any]:
        """The table, and what its learning rates depend on."""
        return {**super().state_dict(), "visits": self.visits}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        parts = dict(state)
        self.visits.copy_(parts.pop("visits"))
        super().load_state_dict(parts)
