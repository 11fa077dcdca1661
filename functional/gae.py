"""Generalized advantage estimation (GAE)."""

from torch import Tensor

from yieldrl.functional.returns import discounted_cumsum, expand_discount


def gae(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float | Tensor,
    gae_lambda: float,
    valid: Tensor | None = None,
) -> Tensor:
    """Generalized advantage estimation, exact at both kinds of episode end.

    Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized
    Advantage Estimation", arXiv:1506.02438, equation 16:

        delta_t = r_t + gamma_t V(s_{t+1}) (1 - terminated_t) - V(s_t)
        A_t     = delta_t + gamma_t lambda (1 - ended_t) A_{t+1}

    A termination ends the future; a truncation stops the recursion, but `V` of the last
    observation still counts.

    Args:
        reward: `[T, N]` float32.
        value: `[T, N]`, `V(obs)`.
        next_value: `[T, N]`, `V(next_obs)`: of `final_obs` where an episode ends.
        terminated: `[T, N]` bool, the episode ended by the environment's own rules.
        truncated: `[T, N]` bool, the episode was cut, for example by a time limit.
        gamma: Discount: a number, or `[T, N]` where transitions last longer than one
            step (`gamma ** k` of a chunk of k actions, whose rewards are discounted);
            another shape is a ValueError.
        gae_lambda: 0 gives the one-step TD error, 1 the Monte Carlo advantage.
        valid: `[T, N]` bool; False marks steps that only reset an environment
            (NEXT_STEP autoreset). They get advantage 0 and cut the recursion.

    Returns:
        Advantages `[T, N]`, detached; with `value` added, a critic's targets.

    >>> import torch
    >>> ones, no = torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.bool)
    >>> gae(ones, 0 * ones, 0 * ones, no, no, gamma=0.5, gae_lambda=1.0).squeeze(1)
    tensor([1.5000, 1.0000])
    """
    gamma = expand_discount(gamma, reward)
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    ended = terminated | truncated
    if valid is not None:
        delta = delta * valid
        ended = ended | ~valid
    return discounted_cumsum(delta, gamma * gae_lambda * ~ended)
