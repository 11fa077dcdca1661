"""Action chunks: several actions chosen at once, for slow policies."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from torch import Tensor
from torch.nn.functional import pad

from yieldrl.envs.arrays import copied, replaced
from yieldrl.envs.autoreset import ASSEMBLED, Step
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.wrappers.base import BatchWrapper, repeated_space


class ActionChunks(BatchWrapper):
    """Takes chunks of L actions and executes the first of them, one after the other.

    Zhao et al. 2023, "Learning Fine-Grained Bimanual Manipulation with Low-Cost
    Hardware", arXiv:2304.13705, section IV. To the learner a chunk is one decision of a
    semi-Markov decision process (Sutton, Precup & Singh 1999, "Between MDPs and
    semi-MDPs", Artificial Intelligence 112): of a chunk of which k actions were taken

        reward = sum_{i<k} gamma^i r_i,    discount = gamma^k

    are what `yieldrl.functional.gae` and TD targets want. They are in `info`, with k
    (`"reward"`, `"discount"` float32 and `"num_steps"` int64, `[N]`); the reward that
    `step` returns is the plain sum. Trainers count decisions where they count steps.

    If an episode ends inside a chunk, the rest of the chunk is dropped, and the next
    chunk gets the first observation of the new episode. The batch is stepped as a
    whole: until then that environment continues in an episode that is discarded, and is
    then reset alone, by a `reset_mask`. No step synchronizes.

    Wrappers of rewards and time limits, which count the steps of the environments, go
    inside; those of observations inside to see every step, outside to see decisions.

    Args:
        length: L, number of actions of a chunk. The action space is Box `[L, D]` of a
            Box `[D]`, MultiDiscrete `[L]` of a Discrete, `[L, D]` of a MultiDiscrete.
        execute: Number of actions to execute; None for all (open loop). Fewer react to
            observations more often (receding horizon).
        gamma: Discount of a single step.
        each_reward: Whether `info` has the `rewards` of all actions, `[N, L]`, too, 0
            of those that were not executed; for values of each.

    Raises:
        ValueError: If an argument is out of its range.
        TypeError: If actions are of another space, or if the environments are not known
            to reset some of them alone.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=2)
        >>> envs = ActionChunks(envs, length=4, gamma=0.5)
        >>> _ = envs.reset(seed=0)
        >>> _, reward, *_, info = envs.step(torch.ones(2, 4, dtype=torch.int64))
        >>> reward, info["reward"], info["discount"]
        (tensor([4., 4.]), tensor([1.8750, 1.8750]), tensor([0.0625, 0.0625]))
    """

    recorded_info = ("reward", "discount", "num_steps")

    def __init__(
        self,
        envs: VectorEnv,
        length: int,
        *,
        execute: int | None = None,
        gamma: float = 1.0,
        each_reward: bool = False,
    ) -> None:
        execute = length if execute is None else execute
        self.resets_some = execute > 1
        super().__init__(envs)
        check_range("length", length, 1)
        check_range("execute", execute, 1, length)
        check_range("gamma", gamma, 0, 1)
        self.length, self.execute, self.gamma = length, execute, gamma
        self.each_reward = each_reward
        if each_reward:
            self.recorded_info = (*self.recorded_info, "rewards")
        space = envs.single_action_space
        if not isinstance(space, Box | Discrete | MultiDiscrete):
            raise TypeError(
                f"the action space {space} makes no chunks: it must be Box, Discrete or"
                " MultiDiscrete (of a MultiBinary, MultiDiscrete([2] * n) is the like)"
            )
        self.single_action_space = repeated_space(space, length)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        if "render_fps" in envs.metadata:  # a frame for each chunk
            fps = envs.metadata["render_fps"] / execute
            self.metadata = {**envs.metadata, "render_fps": fps}
        powers = [gamma**k for k in range(execute + 1)]
        self._powers = torch.tensor(powers, dtype=self.sum_dtype, device=self.inside)
        self._all_envs = ~self.zeros(torch.bool)

    def advance(self, actions: Any) -> Step:
        """Execute chunks `[N, L, ...]`; returns one step with the sums."""
        actions = actions if isinstance(actions, Tensor) else np.asarray(actions)
        running = self._all_envs
        step = super().advance(actions[:, 0])
        next_obs, info = step.next_obs, step.info
        taken, rewards = running.long(), [step.reward]
        terminated, truncated = step.terminated, step.truncated
        for i in range(1, self.execute):
            going_on = running & ~step.ended
            if self._can_branch and not going_on.any():
                break
            running = going_on
            all_run = self._can_branch and bool(running.all())
            if not (all_run or self.reader.new_memory):  # or steps overwrite them
                next_obs, info = copied(next_obs), copied(info)
            step = super().advance(actions[:, i])
            taken = taken + running
            rewards.append(step.reward.masked_fill(~running, 0))
            terminated = terminated | (step.terminated & running)
            truncated = truncated | (step.truncated & running)
            if all_run:
                next_obs, info = step.next_obs, step.info
            else:
                next_obs = replaced(next_obs, step.next_obs, running)
                info = _latest(info, step.info, running)
        each = torch.stack(rewards, 1)  # [N, k], 0 where they do not count
        powers = self._powers.to(each.dtype)
        info = {
            **info,
            "reward": (each * powers[: len(rewards)]).sum(1),
            "discount": powers[taken].float(),
            "num_steps": taken,
        }
        if self.each_reward:
            info["rewards"] = pad(each, (0, self.length - len(rewards)))
        flags = terminated, truncated
        answer = Step(next_obs, each.sum(1), *flags, step.obs, None, info)
        if self.execute == 1:
            return answer
        # First observations, after the rest of a chunk in discarded episodes.
        return self.reset_where(answer, ~running)


def _latest(
    old: Mapping[str, Any], new: Mapping[str, Any], running: Tensor
) -> dict[str, Any]:
    """The latest info of each environment: `new` for running ones. Entries missing in
    one of the two are those of the other."""
    merged = {**old, **new}
    for name in old.keys() & new.keys():
        before, now = old[name], new[name]
        if isinstance(now, Mapping):
            merged[name] = _latest(before, now, running)
        elif isinstance(now, Tensor) and now.shape[:1] == running.shape:
            merged[name] = replaced(before, now, running)
        elif isinstance(now, np.ndarray) and now.shape[:1] == running.shape:
            rows = running.numpy().reshape(-1, *[1] * (now.ndim - 1))
            merged[name] = np.where(rows, now, before)
    return merged


def longest_episode(envs: Any) -> int | None:
    """Steps, or chunks of actions, after which every episode has ended; None if
    unknown."""
    if isinstance(envs, ActionChunks):
        inside = longest_episode(envs.env)
        return None if inside is None else -(-inside // envs.execute)
    limits = [getattr(envs, "max_episode_steps", None)]
    if isinstance(envs, ASSEMBLED):
        specs = envs.get_attr("spec")
        all_limits = [getattr(spec, "max_episode_steps", None) for spec in specs]
        given = [limit for limit in all_limits if limit is not None]
        return max(given) if len(given) == len(all_limits) else None
    if isinstance(envs, VectorWrapper):
        limits.append(longest_episode(envs.env))
    return min((limit for limit in limits if limit is not None), default=None)
