"""V-trace: off-policy correction of advantages and value targets."""

from torch import Tensor

from yieldrl.functional.returns import discounted_cumsum, expand_discount


def vtrace(
    log_ratio: Tensor,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float | Tensor,
    gae_lambda: float,
    valid: Tensor | None = None,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Advantages and value targets of a policy, from actions of an older policy.

    Espeholt et al. 2018, "IMPALA: Scalable Distributed Deep-RL with Importance Weighted
    Actor-Learner Architectures", arXiv:1802.01561. Remark 1, with the lambda of
    remark 2, where pi is the learner's policy and mu the one that acted:

        rho_t   = min(rho_bar, pi(a_t | s_t) / mu(a_t | s_t))
        c_t     = lambda min(c_bar, pi(a_t | s_t) / mu(a_t | s_t))
        delta_t = rho_t (r_t + gamma_t V(s_{t+1}) (1 - terminated_t) - V(s_t))
        v_t     = V(s_t) + delta_t
                  + gamma_t c_t (1 - ended_t) (v_{t+1} - V(s_{t+1}))
        A_t     = rho_t (r_t + gamma_t u_{t+1} (1 - terminated_t) - V(s_t))

    where `u_{t+1} = V(s_{t+1}) + lambda (1 - ended_t) (v_{t+1} - V(s_{t+1}))`. Episode
    ends count as they do in `gae`. If pi is mu, `A` equals that of `gae`, and `v` is
    `A + value`.

    Differs from the paper: with `lambda < 1` its `A` bootstraps from `v_{t+1}` itself,
    which at `pi = mu` is not the advantage of its own `v_t`; with `u` it is (rlax).

    Args:
        log_ratio: `[T, N]`, `log pi(a | s) - log mu(a | s)`.
        reward: `[T, N]`; this and the arguments up to `valid` are as in `gae`.
        value: `[T, N]`, `V(obs)`.
        next_value: `[T, N]`, `V(next_obs)`.
        terminated: `[T, N]` bool.
        truncated: `[T, N]` bool.
        gamma: A number, or `[T, N]`; another shape is a ValueError.
        gae_lambda: From 0 (one step ahead) to 1 (to the end of the data).
        valid: `[T, N]` bool.
        rho_bar: The largest weight of a step. With infinity the learned values are
            those of pi; the lower it is, the closer they are to those of mu.
        c_bar: The largest weight with which a step passes later errors back, at most
            `rho_bar`: lower means less variance and slower learning.

    Returns:
        Advantages `A` for the policy gradient and targets `v` for the critic, `[T, N]`
        each and detached. With equal thresholds, `v` is `A + value`.

    >>> import torch
    >>> ones, no = torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.bool)
    >>> halved = torch.tensor([[1.0], [0.5]]).log()  # pi / mu of either step
    >>> a, v = vtrace(halved, ones, 0 * ones, 0 * ones, no, no, 0.5, 1.0)
    >>> a.squeeze(1), v.squeeze(1)
    (tensor([1.2500, 0.5000]), tensor([1.2500, 0.5000]))
    """
    gamma = expand_discount(gamma, reward)
    ratio = log_ratio.detach().exp()
    rho, c = ratio.clamp(max=rho_bar), ratio.clamp(max=c_bar)
    delta = (reward + gamma * next_value * ~terminated - value).detach()
    ended = terminated | truncated
    if valid is not None:
        delta = delta * valid
        ended = ended | ~valid
    carry = gamma * gae_lambda * ~ended
    correction = discounted_cumsum(rho * delta, carry * c)  # v - V
    advantage = delta.clone()
    advantage[:-1].addcmul_(carry[:-1], correction[1:])
    return rho * advantage, value.detach() + correction
