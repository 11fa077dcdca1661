"""PPO beside a collector in the background, with V-trace written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.algorithms.ppo.correction import CORRECTIONS, Clip


def vtrace(
    log_prob: Tensor,
    behaviour_log_prob: Tensor,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Advantages and targets of the policy that learns, from what an older one did."""
    ratio = (log_prob - behaviour_log_prob).detach().exp()
    rho, c = ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    carry = gamma * gae_lambda * ~(terminated | truncated)
    advantage, target = torch.zeros_like(reward), torch.zeros_like(reward)
    later = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        advantage[t] = rho[t] * (delta[t] + carry[t] * later)
        later = rho[t] * delta[t] + carry[t] * c[t] * later
        target[t] = value[t].detach() + later
    return advantage, target


class VTrace(CORRECTIONS["vtrace"]):
    """PPO's correction of that name, with the function above."""

    def advantages(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Advantages `[T, N]`; PPO makes the critic's targets of them."""
        return vtrace(
            rollout["start"],  # of the policy that learns, asked when learning begins
            rollout["log_prob"],  # of the one that acted, written down then
            reward,
            rollout["value"],
            next_value,
            rollout["terminated"],
            rollout["truncated"],
            self.config.gamma,
            self.config.gae_lambda,
        )[0]


class Algorithm(ppo.Algorithm):
    """PPO whose V-trace is the one above."""

    corrections: ClassVar[Mapping[str, type[Clip]]] = {**CORRECTIONS, "vtrace": VTrace}


class Trainer(ppo.Trainer):
    """The schedule of PPO, as it is."""

    algorithm_class = Algorithm


if __name__ == "__main__":
    torch.set_num_threads(1)
    config = ppo.Config(
        total_steps=60_000, eval_every=10_000, collection="async", correction="vtrace"
    )
    with Trainer(config) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                print(log["sample_step"], float(log["logs"]["episode_return"]))
