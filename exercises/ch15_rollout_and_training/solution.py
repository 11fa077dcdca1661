"""PPO beside a collector in the background, with V-trace written out."""

import torch
from torch import Tensor


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
