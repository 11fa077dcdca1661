"""Actions of experts that read the full state, for demonstrations."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from torch import Tensor

from yieldrl.envs.autoreset import ASSEMBLED
from yieldrl.envs.wrappers import BatchWrapper


def expert_actions(envs: VectorEnv) -> Tensor | np.ndarray:
    """The actions of the environments' experts in the current states.

    An expert is a method `expert()` without arguments: of a vector environment, or of a
    wrapper around one, for the batch `[N, ...]`; or of each single environment in a
    batch, or a wrapper around it, for one action. The outermost is used; it may be
    inside of wrappers that do not change actions.

    Returns:
        Actions `[N, ...]` as `envs.step` takes them: a tensor on the environments'
        device if they give tensors, else an array.

    Raises:
        ValueError: If there is no expert, or one inside of a wrapper that changes the
            actions. (Wrappers in other processes are not checked.)

    Example:
        >>> import gymnasium
        >>> envs = gymnasium.make_vec("yieldrl/GoTo-v1", num_envs=3)
        >>> obs, info = envs.reset(seed=0)
        >>> expert_actions(envs).shape
        torch.Size([3])
    """
    return find_expert(envs)()


def find_expert(envs: VectorEnv) -> Callable[[], Tensor | np.ndarray]:
    """A function that returns `expert_actions(envs)`, for repeated calls; the
    environments need no reset yet. ValueError as in `expert_actions`."""
    if hasattr(type(envs), "expert"):
        known: Any = envs
        return known.expert
    if isinstance(envs, VectorWrapper):
        inside, outside = envs.env.single_action_space, envs.single_action_space
        _check_actions_pass(envs, inside, outside)
        ask = find_expert(envs.env)
        if not isinstance(envs, BatchWrapper):
            return ask
        to_caller = envs.to_caller
        return lambda: to_caller(ask())
    parts = isinstance(envs, ASSEMBLED)
    # Check first: a process that is asked for a missing attribute ends.
    if not (parts and all(envs.call("has_wrapper_attr", "expert"))):
        raise ValueError(
            f"{envs} has no expert: give the environment's class a method expert() that"
            " returns the best action, given the whole state (of a vector environment,"
            " those of all, [N, ...]), or name other demonstrations"
        )
    for env in getattr(envs, "envs", ()):
        while isinstance(env, gym.Wrapper) and not hasattr(type(env), "expert"):
            _check_actions_pass(env, env.env.action_space, env.action_space)
            env = env.env
    dtype = envs.single_action_space.dtype
    return lambda: np.stack(envs.call("expert")).astype(dtype, copy=False)


def _check_actions_pass(wrapper: Any, inside: Any, outside: Any) -> None:
    if inside != outside:
        raise ValueError(
            f"the expert inside of {wrapper} acts in {inside}, and the wrapper takes"
            f" actions in {outside}: ask for its actions without the wrapper, or give"
            " the wrapper a method expert() that translates them"
        )
