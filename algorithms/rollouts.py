"""Computations on whole rollouts `[T, N]`, and limits of steps by their KL."""

from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms.tokens import sum_executed
from yieldrl.core import spaces
from yieldrl.envs.arrays import leaves

CHUNK, MOST = 4096, 2**18
"""Transitions evaluated at a time, so that images fit into memory; and on a GPU, which
many small operations keep waiting, at most, up to 64 MiB of observations."""

LOWEST_RATE, HIGHEST_RATE = 1e-5, 1e-2


def evaluate_rollout(algorithm: Any, rollout: TensorDict) -> None:
    """Add what `algorithm.evaluated` says of actions `[T, N]`, unless acting did.

    Where collecting and learning take turns, the weights that acted are those of now,
    and one batch after the rollout takes a tenth of the time. RuntimeError if they are
    older, and acting did not store the `log_prob`.
    """
    entries, now = set(rollout.keys()), algorithm.counters
    if "log_prob" in entries:
        return
    if now.acted_version != now.policy_version:
        raise RuntimeError(_unknown_log_prob(now.acted_version, now.policy_version))
    evaluated = in_chunks(algorithm.evaluated, algorithm.model, rollout)
    rollout.update({k: x for k, x in evaluated.items() if k not in entries})


def split(obs: Any) -> Any:
    """Observations `[B, ...]` in parts that are evaluated at a time."""
    first, rows = obs[0], CHUNK
    if next(iter(leaves(obs))).device.type != "cpu":
        size = sum(leaf.nbytes for leaf in leaves(first))
        rows = max(CHUNK, min(MOST, 2**26 // size))
    return obs.split(rows)


def in_chunks(
    function: Callable[[Any], dict[str, Tensor]], model: Any, rollout: TensorDict
) -> dict[str, Tensor]:
    """The results of a function for all actions of a rollout, `[T, N, ...]` each.

    Args:
        function: Of `obs` and `action` by these names, to results by theirs.
        model: Its `inputs` selects the policy's inputs.
        rollout: `[T, N]`; it is evaluated in parts that fit into memory.
    """
    obs = split(model.inputs(rollout).flatten(0, 1))
    action = rollout["action"].flatten(0, 1).split(len(obs[0]))
    parts = [
        function({"obs": seen, "action": chosen})
        for seen, chosen in zip(obs, action, strict=True)
    ]
    size, names = rollout.batch_size, parts[0].keys()
    return {k: torch.cat([part[k] for part in parts]).unflatten(0, size) for k in names}


def state_values(model: Any, obs: Any) -> Tensor:
    """`V(s)` of observations `[B, ...]`, `[B]`; zeros without a critic."""
    if not model.has_critic:
        device = next(model.parameters()).device
        return torch.zeros(spaces.batch_size(obs), dtype=torch.float32, device=device)
    return torch.cat([model.get_value(part) for part in split(obs)])


@torch.no_grad()
def completed(algorithm: Any, rollout: TensorDict) -> TensorDict:
    """Add `advantage`, `returns`, `entropy`, and missing `log_prob` and version."""
    algorithm.prepare(rollout)
    inputs = algorithm.model.inputs(rollout).flatten(0, 1)
    action = rollout["action"].flatten(0, 1)
    log_prob, entropy, _ = algorithm.model.evaluate_actions(inputs, action)
    now, size = algorithm.counters.policy_version, rollout.batch_size
    version = torch.full_like(rollout["terminated"], now, dtype=torch.int64)
    rollout.setdefault("log_prob", log_prob.unflatten(0, size))
    rollout.setdefault("policy_version", version)
    entropy = sum_executed(entropy, rollout.flatten(0, 1))
    return rollout.set("entropy", entropy.view(size))


def judge_logs(rollout: TensorDict) -> Logs:
    """Mean rewards of a rollout `[T, N]` with `JudgedReward`: the judge's and the true
    ones; else nothing."""
    entries = set(rollout.keys())
    if "true_reward" not in entries:
        return {}
    steps = rollout[rollout["valid"]] if "valid" in entries else rollout
    names = {"judged_reward": "reward", "true_reward": "true_reward"}
    return {name: steps[entry].mean() for name, entry in names.items()}


def adapt_learning_rate(algorithm: Any, approx_kl: float, desired_kl: float) -> None:
    """Lower the learning rate after too far a move, raise it after too short a one.

    Rudin et al. 2022, "Learning to Walk in Minutes", arXiv:2109.11978, and its rsl_rl.
    Differs from rsl_rl: `approx_kl` is estimated from the actions that were taken, so
    that any distribution will do.
    """
    rate = algorithm.learning_rate
    if approx_kl > 2 * desired_kl:
        algorithm.learning_rate = max(LOWEST_RATE, rate / 1.5)
    elif approx_kl < desired_kl / 2:
        algorithm.learning_rate = min(HIGHEST_RATE, rate * 1.5)


def _unknown_log_prob(acted: int | None, now: int) -> str:
    who = f"policy version {acted}" if acted is not None else "an unknown policy"
    return (
        f"the rollout holds no log_prob, and was collected by {who}: version {now}, the"
        " current one, cannot compute it any more. Set records_log_prob = True on the"
        " acting agent before it acts; or clear() the buffer, if it holds the rollout"
    )
