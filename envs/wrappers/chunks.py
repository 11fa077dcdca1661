"""Action chunks: several actions chosen at once, for slow policies."""

from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
    VectorWrapper,
)
from gymnasium.vector.utils import batch_space
from torch import Tensor

from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers.base import BatchWrapper, repeated_space
from yieldrl.envs.wrappers.chunk_sums import ChunkSums
from yieldrl.envs.wrappers.episodes import check_resets_in_part


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
        ValueError: If an argument is out of its range, or the environments take chunks
            already; in a step, if actions have another shape.
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
        super().__init__(envs)
        execute = length if execute is None else execute
        _check_arguments(length, execute, gamma)
        if "discount" in getattr(envs, "recorded_info", ()):
            raise ValueError(
                f"{envs} takes chunks already (it records a discount): give one"
                " ActionChunks the whole length"
            )
        if execute > 1:
            check_resets_in_part(
                envs, "set execute=1, or vectorize single environments by SyncVectorEnv"
            )
        self.length, self.execute, self.gamma = length, execute, gamma
        self.each_reward = each_reward
        if each_reward:
            self.recorded_info = (*self.recorded_info, "rewards")
        self.single_action_space = _chunk_of(envs.single_action_space, length)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        if "render_fps" in envs.metadata:  # a frame for each chunk
            fps = envs.metadata["render_fps"] / execute
            self.metadata = {**envs.metadata, "render_fps": fps}
        powers = [gamma**k for k in range(execute + 1)]
        self._discounts = torch.tensor(powers, dtype=torch.float32).to(self.inside)
        self._all_envs = ~self.zeros(torch.bool)
        self._by_caller = self.autoreset_mode is AutoresetMode.DISABLED

    def action(self, actions: Any) -> Any:
        """Check the shape of chunks `[N, L, ...]`; returns them with their type."""
        actions = actions if isinstance(actions, Tensor) else np.asarray(actions)
        wanted = self.action_space.shape
        if actions.shape != wanted:
            raise ValueError(
                f"actions of shape {tuple(actions.shape)}: must be {wanted}, for each"
                f" of {self.num_envs} environments a chunk of {self.length}"
            )
        return actions

    def advance(self, actions: Any) -> Step:
        """Execute chunks `[N, L, ...]`; returns one step with the sums."""
        valid = None if self._resets is None else ~self._resets
        running = self._all_envs if valid is None else valid
        step = super().advance(actions[:, 0])
        sums = ChunkSums(step, running)
        for i in range(1, self.execute):
            going_on = running & ~step.ended
            if self._can_branch and not going_on.any():
                break
            running = going_on
            all_run = self._can_branch and bool(running.all())
            if not (all_run or self.reader.new_memory):
                sums.keep(step)
            # Let episodes that ended continue in discarded ones.
            if self._by_caller and (not self._can_branch or step.ended.any()):
                self.reset_inside(step, step.ended)
            step = super().advance(actions[:, i])
            sums.add(step, None if all_run else running, self.gamma**i)
        obs = step.obs if self.resets_at_once else sums.next_obs
        answer = sums.as_step(obs, valid, self._discounts)
        if self.each_reward:
            answer.info["rewards"] = sums.rewards(self.length)
        if self._by_caller or self.execute == 1:  # these reset at the right time
            return answer
        # First observations, after the rest of a chunk in discarded episodes.
        return self.begun_anew(answer, ~running if valid is None else ~valid)


def _check_arguments(length: int, execute: int, gamma: float) -> None:
    if length < 1:
        raise ValueError(f"length = {length}: a chunk has at least one action")
    if not 1 <= execute <= length:
        raise ValueError(
            f"execute = {execute}: must be from 1 to length = {length}, the actions"
            " that a chunk has"
        )
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma = {gamma}: a discount lies in [0, 1]")


def _chunk_of(space: Space, length: int) -> Space:
    """The space of `length` consecutive actions."""
    if isinstance(space, Box | Discrete | MultiDiscrete):
        return repeated_space(space, length)
    raise TypeError(
        f"the action space {space} makes no chunks: it must be Box, Discrete or"
        " MultiDiscrete (of a MultiBinary, MultiDiscrete([2] * n) is the like)"
    )


def longest_episode(envs: Any) -> int | None:
    """Steps, or chunks of actions, after which every episode has ended; None if
    unknown."""
    if isinstance(envs, ActionChunks):
        inside = longest_episode(envs.env)
        return None if inside is None else -(-inside // envs.execute)
    limits = [getattr(envs, "max_episode_steps", None)]
    if isinstance(envs, SyncVectorEnv | AsyncVectorEnv):
        specs = envs.get_attr("spec")
        found = [getattr(spec, "max_episode_steps", None) for spec in specs]
        known = [limit for limit in found if limit is not None]
        return max(known) if len(known) == len(found) else None
    if isinstance(envs, VectorWrapper):
        limits.append(longest_episode(envs.env))
    return min((limit for limit in limits if limit is not None), default=None)
