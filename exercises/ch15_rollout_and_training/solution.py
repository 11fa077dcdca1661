"""Chapter 15, rollout and training."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import appo


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
    """Advantages and targets of the policy that learns, from what an older one did.

    All tensors are `[T, N]`, time first.

    Args:
        log_prob: `log pi(a | s)` of the policy that learns.
        behaviour_log_prob: `log mu(a | s)` of the one that acted, written down then.
        reward: What each step earned.
        value: `V(s_t)`, what the critic says of the state in which it was taken.
        next_value: `V(s_{t+1})`, what it says of the state that the step led to; at the
            end of an episode that is its last one, not the first of the next.
        terminated: Bool; the episode ended there, and no future follows.
        truncated: Bool; it was cut there, though the world would have gone on.
        gamma: Discount.
        gae_lambda: How far to trust rewards, 1, rather than the critic, 0.
        rho_bar: The largest weight of a step itself.
        c_bar: The largest weight with which it passes back what follows.

    Returns:
        Advantages for the actor and targets for the critic, new tensors without a
        gradient; the arguments stay as they are.
    """
    advantage, target = torch.zeros_like(reward), torch.zeros_like(reward)
    # The gap. Five lines before a loop and three in it are enough. With `later` for
    # v_{t+1} - V(s_{t+1}), [N], which is 0 where the rollout ends:
    #   rho_t   = min(rho_bar, pi / mu), c_t = min(c_bar, pi / mu)
    #   delta_t = r_t + gamma V(s_{t+1}) - V(s_t)     a terminated step has no future
    #   A_t     = rho_t (delta_t + gamma lambda later)    an end cuts what is later off
    #   later   = rho_t delta_t + gamma lambda c_t later      and this too
    #   v_t     = V(s_t) + later
    # From logarithms: which of the two is subtracted from which?
    # gap: begin with the ratio, then delta, then the loop
    ratio = (log_prob - behaviour_log_prob).detach().exp()
    rho, c = ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    carry = gamma * gae_lambda * ~(terminated | truncated)
    later = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        advantage[t] = rho[t] * (delta[t] + carry[t] * later)
        later = rho[t] * delta[t] + carry[t] * c[t] * later
        target[t] = value[t].detach() + later
    # end
    return advantage, target


class Algorithm(appo.Algorithm):
    """Asynchronous PPO whose V-trace is the one above."""

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Advantages `[T, N]`; PPO makes the critic's targets of them."""
        ends = rollout["terminated"], rollout["truncated"]
        discounts = self.config.gamma, self.config.gae_lambda
        advantage, _ = vtrace(
            rollout["log_prob_now"],  # of the policy that learns, when learning begins
            rollout["log_prob"],  # of the one that acted, written down then
            *(reward, rollout["value"], next_value, *ends, *discounts),
        )
        return advantage
