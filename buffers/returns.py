"""Advantages and returns: pure functions of `[T, N]` tensors, time first."""

from __future__ import annotations

import torch
from torch import Tensor

from yieldrl.foundations import ranks


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

    A terminated episode has no future: nothing is bootstrapped. A truncated one was
    only cut short: the recursion stops, but `V` of its last observation still counts.
    That is why `next_value` is asked for by itself: at an episode's end it belongs to
    the observation before the reset (`final_obs`), not to the one after it.

    Args:
        reward: `[T, N]` float32.
        value: `[T, N]`, `V(obs)`.
        next_value: `[T, N]`, `V(next_obs)`.
        terminated: `[T, N]` bool, the episode ended in the environment's own terms.
        truncated: `[T, N]` bool, the episode was cut, by a time limit say.
        gamma: Discount: a number, or `[T, N]` where transitions last longer than one
            step (`gamma ** k` of a chunk of k actions, whose rewards are discounted).
        gae_lambda: 0 gives the one-step TD error, 1 the Monte Carlo advantage.
        valid: `[T, N]` bool; False marks steps that only reset an environment
            (NEXT_STEP autoreset). They get advantage 0 and cut the recursion.

    Returns:
        Advantages `[T, N]`; add `value` for the returns that a critic regresses to.
        Detached: to a loss they are constants, even if `value` has a graph.

    Raises:
        ValueError: If `gamma` is a tensor of another shape.

    >>> ones, no = torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.bool)
    >>> gae(ones, 0 * ones, 0 * ones, no, no, gamma=0.5, gae_lambda=1.0).squeeze(1)
    tensor([1.5000, 1.0000])
    """
    gamma = discount_of(gamma, reward)
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    ended = terminated | truncated
    if valid is not None:
        delta = delta * valid
        ended = ended | ~valid
    return sum_back(delta, gamma * gae_lambda * ~ended)


def discounted_returns(
    reward: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float | Tensor,
) -> Tensor:
    """Rewards to go `G_t = r_t + gamma_t G_{t+1}`, bootstrapped where data end.

    Sutton & Barto 2018, equation 3.9. After a termination `G` is 0; after a truncation
    and after the last row it is `next_value`.

    Args:
        reward: `[T, N]` float32.
        next_value: `[T, N]`, `V(next_obs)`; zeros for plain Monte Carlo returns.
        terminated: `[T, N]` bool.
        truncated: `[T, N]` bool.
        gamma: Discount: a number, or `[T, N]` where transitions last longer than one
            step (`gamma ** k` of a chunk of k actions, whose rewards are discounted).

    Returns:
        Returns `[T, N]`, detached: to a loss they are constants.

    Raises:
        ValueError: If `gamma` is a tensor of another shape.
    """
    gamma = discount_of(gamma, reward)
    returns = (reward + gamma * next_value * ~terminated).detach()
    goes_on = ~(terminated | truncated)
    each = gamma if isinstance(gamma, Tensor) else [gamma] * len(reward)
    for t in range(len(reward) - 2, -1, -1):
        followed = reward[t] + each[t] * returns[t + 1]
        returns[t] = torch.where(goes_on[t], followed, returns[t])
    return returns


def explained_variance(
    value: Tensor, returns: Tensor, valid: Tensor | None = None
) -> Tensor:
    """How much of the returns' variance a critic explains: `1 - Var(G - V) / Var(G)`.

    1 is a perfect critic, 0 one that is as good as any constant, less than 0 one that
    is worse. Where the returns do not vary (beyond rounding) there is nothing to
    explain, and the answer is 0: means over several rollouts stay defined. Of several
    processes that train together all of their returns count.

    Args:
        value: Predictions, of any shape.
        returns: What they predict, the same shape.
        valid: Bool of that shape; False leaves an element out.

    Returns:
        0-dim, detached, on the device of the arguments, without a synchronisation.

    >>> returns = torch.tensor([1.0, 2.0, 3.0])
    >>> explained_variance(torch.tensor([1.5, 2.0, 2.5]), returns)
    tensor(0.7500)
    """
    value, returns = value.detach(), returns.detach()
    both = torch.stack([returns, returns - value]).flatten(1)
    kept = None if valid is None else valid.flatten()
    mean = _means(both, kept)
    variances = _means((both - mean.unsqueeze(1)).square(), kept)
    variance, unexplained = variances.unbind()
    rounding = 10 * torch.finfo(returns.dtype).eps
    varies = variance > rounding**2 * (variance + mean[0].square())
    return torch.where(varies, 1 - unexplained / variance, 0.0)


def discount_of(gamma: float | Tensor, reward: Tensor) -> float | Tensor:
    """A number, or one discount `[T, N]` for each transition, detached.

    Raises:
        ValueError: If it would be broadcast along time or environments by chance.
    """
    if not isinstance(gamma, Tensor):
        return gamma
    if gamma.ndim > 0 and gamma.shape != reward.shape:
        raise ValueError(
            f"gamma has the shape {list(gamma.shape)}, reward {list(reward.shape)}:"
            " give a number, or one discount for each transition"
        )
    return gamma.detach().expand_as(reward)


def sum_back(delta: Tensor, carry: Tensor) -> Tensor:
    """`x_t = delta_t + carry_t x_{t+1}`, `[T, N]`, with 0 after the last row."""
    total = delta.clone()
    row, factor = total.unbind(), carry.unbind()  # views: rows are added in place
    for t in range(len(row) - 2, -1, -1):
        row[t].addcmul_(factor[t], row[t + 1])
    return total


def _means(rows: Tensor, kept: Tensor | None) -> Tensor:
    """Means `[R]` of rows `[R, K]` over the columns that are kept, of all processes."""
    if kept is None:
        count = rows.new_full((1,), rows.shape[1])
    else:  # where, not times: what is left out may be infinite
        rows, count = torch.where(kept, rows, 0.0), kept.sum(0, keepdim=True)
    total = ranks().total(torch.cat([rows.sum(1), count]))
    return total[:-1] / total[-1]
