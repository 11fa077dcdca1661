"""Groups of environments that begin each episode from one state."""

from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import ResetResult
from yieldrl.envs.autoreset import Step
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.wrappers.base import BatchWrapper
from yieldrl.envs.wrappers.chunks import longest_episode


class GroupStarts(BatchWrapper):
    """Starts episodes of G consecutive environments together, with equal seeds.

    So their first observations are equal (such as the same prompt), and returns differ
    only by the actions. A member whose episode has ended waits for its group: the steps
    that it takes meanwhile are discarded, `valid` is False there and the reward 0.

    Time goes in rounds of `num_steps` steps since the first reset. In each all groups
    begin at once. A group of which all members have ended begins another episode in the
    round only if the longest one would still end in it: to begin those that happen to
    be short would favour short ones. What has not ended in time is truncated there.

    Put it around all other wrappers; evaluation goes without it. Agents with a memory
    are not told of its resets. Where looking at a GPU takes time, it waits in steps in
    which a group may begin.

    In `info`, and so in every transition, are bool `[N]` each but for `episode`:

    - `valid`: whether the step belongs to an episode;
    - `begins`: whether it is the first one of its episode;
    - `ends`: whether the environment ended the episode in it, so that a truncation
      without it is a cut, by the round's end or by somebody else's reset;
    - `episode`: which episode of its group it is, int64 `[N]`.

    Args:
        group_size: G; the number of environments is a multiple of it.
        num_steps: Steps of a round, as many as of a rollout.

    Raises:
        ValueError: If an argument is out of its range, or the environments are no
            whole groups.
        TypeError: If they are not known to reset some of them alone.

    Attributes:
        horizon: Steps after which every episode has ended, as `max_episode_steps` says;
            None if it is unknown: then each round has one episode.
        ungrouped: The environments inside, in which nobody waits for another.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=4)
        >>> obs, _ = GroupStarts(envs, group_size=2, num_steps=500).reset(seed=0)
        >>> (obs[0] == obs[1]).all(), (obs[1] == obs[2]).all()
        (tensor(True), tensor(False))
    """

    recorded_info = ("valid", "episode", "begins", "ends")
    resets_some = training_alone = True
    carried = ("running", "episode", "begins")
    counted = ("_row", "_deals", "_root")

    def __init__(self, envs: VectorEnv, group_size: int, num_steps: int) -> None:
        super().__init__(envs)
        check_range("group_size", group_size, 2)
        check_range("num_steps", num_steps, 1)
        if self.num_envs % group_size:
            raise ValueError(
                f"{self.num_envs} environments are no whole groups of {group_size}:"
                f" choose a multiple of {group_size}"
            )
        self.group_size, self.num_steps, self.ungrouped = group_size, num_steps, envs
        self.horizon = longest_episode(envs)
        self.running = self.begins = self.zeros(torch.bool)
        self.episode = self.zeros(torch.int64) - 1
        self._row = self._deals = 0  # steps of this round; number of seed draws
        self._root: int | None = None  # what the seeds are derived from

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        """Begin episodes everywhere, if they will end in the round; it goes on.

        Args:
            seed: One number or several, from which all later seeds are derived.
            options: Those of the environments, without a `reset_mask`.

        Raises:
            ValueError: If some environments are to be reset alone.
        """
        if "reset_mask" in (options or {}):
            raise ValueError(
                "a reset_mask would part a group: put GroupStarts around all wrappers"
                " that reset environments, and leave their resets to it"
            )
        if seed is not None or self._root is None:
            (word,) = np.random.SeedSequence(seed).generate_state(1, np.uint64)
            self._root, self._deals = int(word >> np.uint64(1)), 0
        return super().reset(seed=self._deal(), options=options)

    def after_reset(self, obs: Any, where: Tensor) -> Any:
        self.running = self.zeros(torch.bool)
        self._mark(where if self._fits else ~where)
        return obs

    def after_step(self, step: Step) -> Step:
        running = self.running
        ended = running & step.ended
        self._row += 1
        entries = {"valid": running, "begins": self.begins, "ends": ended}
        truncated = step.truncated & running
        if self._row == self.num_steps:  # a cut
            truncated = truncated | (running & ~ended)
        answer = step._replace(
            reward=step.reward.masked_fill(~running, 0),
            terminated=step.terminated & running,
            truncated=truncated,
            valid=running,
            info={**step.info, **entries, "episode": self.episode},
        )
        self.running, self.begins = running & ~answer.ended, self.zeros(torch.bool)
        self._row %= self.num_steps
        return self._begun(answer)

    def resume_at(self, row: int) -> None:
        """Set the number of steps taken in this round, after an interruption."""
        self._row = row % self.num_steps

    @property
    def _fits(self) -> bool:
        """Whether any episode that begins now ends within the round."""
        if self._row == 0:
            return True
        return self.horizon is not None and self._row + self.horizon <= self.num_steps

    def _begun(self, step: Step) -> Step:
        """The step with first observations where all of a group have ended."""
        if not self._fits:
            return step
        waiting = ~self.running.view(-1, self.group_size).any(1)
        where = waiting.repeat_interleave(self.group_size)
        if not where.any():
            return step
        self._mark(where)
        return self.reset_where(step, where, self._deal())

    def _mark(self, where: Tensor) -> None:
        """Mark that episodes begin where `where [N]` is True, and none runs there."""
        self.running, self.begins = self.running | where, where
        self.episode = self.episode + where

    def _deal(self) -> list[int]:
        """A seed for each environment, equal in each group."""
        entropy = [self._root, self._deals]
        self._deals += 1
        count = self.num_envs // self.group_size
        words = np.random.SeedSequence(entropy).generate_state(count)
        return np.repeat(words >> 2, self.group_size).tolist()  # below 2**30
