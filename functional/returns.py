"""Discounted returns, n-step returns, and how well a critic predicts them."""

import torch
from torch import Tensor

from yieldrl.core import ranks


def discounted_returns(
    reward: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float | Tensor,
) -> Tensor:
    """Discounted rewards to go: `G_t = r_t + gamma_t G_{t+1}`.

    Sutton & Barto 2018, equation 3.9. `G_{t+1}` is 0 after a termination, and
    `next_value_t` (bootstrapped) after a truncation and after the last row.

    Args:
        reward: `[T, N]` float32.
        next_value: `[T, N]`, `V(next_obs)`; zeros for plain Monte Carlo returns.
        terminated: `[T, N]` bool.
        truncated: `[T, N]` bool.
        gamma: Discount: a number, or `[T, N]`, as in `gae`.

    Returns:
        Returns `[T, N]`, detached.
    """
    gamma = expand_discount(gamma, reward)
    returns = (reward + gamma * next_value * ~terminated).detach()
    goes_on = ~(terminated | truncated)
    each = gamma if isinstance(gamma, Tensor) else [gamma] * len(reward)
    for t in range(len(reward) - 2, -1, -1):
        followed = reward[t] + each[t] * returns[t + 1]
        returns[t] = torch.where(goes_on[t], followed, returns[t])
    return returns


def n_step_returns(
    reward: Tensor, ended: Tensor, discount: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sums of the next n discounted rewards, or of fewer if an episode ends earlier.

    Sutton 1988, "Learning to Predict by the Methods of Temporal Differences". Bootstrap
    with `returns + next_discount * V(obs after the last of these steps)`.

    Args:
        reward: `[B, n]` float32.
        ended: `[B, n]` bool, whether the episode ended at that step.
        discount: `[n + 1]`, the powers `gamma ** k`; or `[B, n + 1]`, the products of
            the first k discounts (1 for k = 0), where every step has its own.

    Returns:
        `returns` and `next_discount`, float32 `[B]`, and `length`, int64 `[B]`:
        the number of steps summed.

    >>> reward, ended = torch.ones(1, 3), torch.tensor([[False, True, False]])
    >>> n_step_returns(reward, ended, torch.tensor([1.0, 0.5, 0.25, 0.125]))
    (tensor([1.5000]), tensor([0.2500]), tensor([2]))
    """
    ended_before = ended.cumsum(1) - ended.long()
    used = ended_before == 0
    length = used.sum(1)
    reward = reward * used
    if discount.ndim == 1:
        return reward @ discount[:-1], discount[length], length
    returns = reward[:, 0] + (reward[:, 1:] * discount[:, 1:-1]).sum(1)
    return returns, discount.gather(1, length.unsqueeze(1)).squeeze(1), length


def explained_variance(
    value: Tensor, returns: Tensor, valid: Tensor | None = None
) -> Tensor:
    """The share of the returns' variance that a critic explains.

    `1 - Var(G - V) / Var(G)`: 1 for a perfect critic, 0 for one that is as good as any
    constant, negative for a worse one; 0 if the returns do not vary beyond rounding. In
    distributed training it is computed over the returns of all processes.

    Args:
        value: Predictions, of any shape.
        returns: The returns that they predict, the same shape.
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
    mean = _masked_means(both, kept)
    variances = _masked_means((both - mean.unsqueeze(1)).square(), kept)
    variance, unexplained = variances.unbind()
    rounding = 10 * torch.finfo(returns.dtype).eps
    varies = variance > rounding**2 * (variance + mean[0].square())
    return torch.where(varies, 1 - unexplained / variance, 0.0)


def discounted_cumsum(delta: Tensor, carry: Tensor) -> Tensor:
    """`x_t = delta_t + carry_t x_{t+1}`, `[T, N]`, with 0 after the last row."""
    total = delta.clone()
    row, factor = total.unbind(), carry.unbind()  # views: rows are added in place
    for t in range(len(row) - 2, -1, -1):
        row[t].addcmul_(factor[t], row[t + 1])
    return total


def expand_discount(gamma: float | Tensor, reward: Tensor) -> float | Tensor:
    """The discount as a number, or as a detached tensor of the rewards' shape.

    ValueError if a tensor is neither 0-dim nor of that shape: no broadcasting.
    """
    if not isinstance(gamma, Tensor):
        return gamma
    if gamma.ndim > 0 and gamma.shape != reward.shape:
        raise ValueError(
            f"gamma has the shape {list(gamma.shape)}, reward {list(reward.shape)}:"
            " give a number, or one discount for each transition"
        )
    return gamma.detach().expand_as(reward)


def _masked_means(rows: Tensor, kept: Tensor | None) -> Tensor:
    """Means `[R]` of rows `[R, K]` over the kept columns of all processes."""
    if kept is None:
        count = rows.new_full((1,), rows.shape[1])
    else:  # `where`, not a product: values left out may be infinite
        rows, count = torch.where(kept, rows, 0.0), kept.sum(0, keepdim=True)
    total = ranks().all_reduce_sum(torch.cat([rows.sum(1), count]))
    return total[:-1] / total[-1]


def returns_within(returns: Tensor, rewards: Tensor, gamma: float) -> Tensor:
    """Returns from each action of a chunk, computed from the return of its first one.

    `G_l = sum_{l <= i < k} gamma^(i-l) r_i + gamma^(k-l) W`, where `W` is the
    return after the k actions; `G_0` contains it, so `G_{l+1} = (G_l - r_l) / gamma`.

    Args:
        returns: `G_0`, `[...]`.
        rewards: `r_i` of the L actions, `[..., L]`.
        gamma: Discount of a single action, above 0.

    Returns:
        `G_l`, `[..., L]`; valid for the first k actions, which were executed.

    >>> returns_within(torch.tensor([4.0]), torch.tensor([[1.0, 0.5, 2.0]]), 0.5)
    tensor([[ 4.,  6., 11.]])
    """
    later = [returns]
    for reward in rewards.unbind(-1)[:-1]:
        later.append((later[-1] - reward) / gamma)
    return torch.stack(later, -1)
