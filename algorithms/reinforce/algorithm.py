"""The mathematics of REINFORCE.

Williams 1992, Machine Learning 8:229-256; Sutton & Barto 2018, section 13.3.
"""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs
from yieldrl.buffers import selected
from yieldrl.functional import discounted_returns
from yieldrl.networks import RunningMean

from .config import Config
from .model import Model


class Algorithm(abstractions.Algorithm):
    """Make every action more likely by the return that followed it.

    Differs from the paper: an action is weighed by the rewards that came after it and
    not by those of the whole episode; the mean over steps stands for the sum, which is
    a matter of the learning rate; and Adam takes the steps. As everywhere, the factor
    `gamma^t` of the discounted objective is left out: late steps count like early ones.
    """

    config: Config
    model: Model

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__(model, config)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=config.learning_rate, fused=True
        )
        self.running_mean = RunningMean().to(self.device)

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.policy(obs).mode()

    @torch.no_grad()
    def prepare(self, episodes: TensorDict) -> TensorDict:
        """From steps `[T, N]` to those of whole episodes `[B]`, with their `returns`.

        There is no critic to say what would have come after a time limit, so the return
        is the one within the limit, which is also what evaluation reports.
        """
        episodes["returns"] = discounted_returns(
            episodes["reward"],
            torch.zeros_like(episodes["reward"]),
            episodes["terminated"],
            episodes["truncated"],
            episodes.get("discount", self.config.gamma),
        )
        steps = episodes.flatten(0, 1)
        return selected(steps, steps["valid"]).select("obs", "action", "returns")

    def weight(self, returns: Tensor) -> Tensor:
        """The factor of the gradient of `log pi`: returns minus a baseline."""
        if self.config.baseline == "batch":
            return (returns - returns.mean()) / (returns.std(correction=0) + 1e-8)
        return returns - self.running_mean.value  # 0 without a baseline

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """`-mean(G log pi(a | s))` over steps `[B]`, and what to log."""
        policy = self.model.policy(data["obs"])
        log_prob = policy.log_prob(data["action"])
        loss = -(log_prob * self.weight(data["returns"])).mean()
        logs = {
            "loss": loss.detach(),
            "entropy": policy.entropy().detach().mean(),
            "returns": data["returns"].mean(),
        }
        if self.model.log_std is not None:
            logs["policy_std"] = self.model.log_std.detach().exp().mean()
        return loss, logs

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on the steps `[B]` of whole episodes."""
        logs = self.minimize(self.loss, data)
        if self.config.baseline == "mean":  # after its use, to be unbiased
            self.running_mean.update(data["returns"])
        return logs
