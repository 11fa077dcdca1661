"""Wrappers about episodes: their returns and lengths, and a time limit."""

import torch
from gymnasium.vector import VectorEnv

from yieldrl.envs.autoreset import Step
from yieldrl.envs.batched.inputs import check_range
from yieldrl.envs.wrappers.base import BatchWrapper


class EpisodeStatistics(BatchWrapper):
    """Gives the return and the length of every episode that ends.

    `info["episode"]` holds `"r"`, the returns `[N]`, and `"l"`, the lengths int64
    `[N]`, zero where no episode ended; the mask `info["_episode"]` says where one did.
    Environments of tensors give it in every step, for to look would wait; those of
    arrays when an episode ends. For loops of your own: trainers report episodes by
    themselves.

    Example:
        >>> import gymnasium, yieldrl.envs
        >>> envs = gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=2)
        >>> envs = EpisodeStatistics(envs)
        >>> _ = envs.reset(seed=0)
        >>> for _ in range(10):
        ...     *_, info = envs.step(torch.ones(2, dtype=torch.int64))
        >>> info["episode"]["l"], info["_episode"]
        (tensor([ 0, 10]), tensor([False,  True]))
    """

    carried = ("returns", "lengths")

    def __init__(self, envs: VectorEnv) -> None:
        super().__init__(envs)
        self.returns = self.zeros(self.sum_dtype)
        self.lengths = self.zeros(torch.int64)

    def after_step(self, step: Step) -> Step:
        returns = self.returns + step.reward.detach()
        lengths, ended = self.lengths + 1, step.ended
        self.returns = returns.masked_fill(ended, 0)
        self.lengths = lengths.masked_fill(ended, 0)
        if self._arrays and not ended.any():
            return step
        returns, lengths = (x.masked_fill(~ended, 0) for x in (returns, lengths))
        of_episode = {"r": returns.to(step.reward.dtype), "l": lengths}
        info = {**step.info, "episode": of_episode, "_episode": ended}
        return step._replace(info=info)


class TimeLimit(BatchWrapper):
    """Sets `truncated` from a number of steps on, for each environment by itself.

    An episode that is cut here is reset from here, by a `reset_mask`, after `final_obs`
    was kept. A `TorchVectorEnv` has `max_episode_steps` of its own, which is faster.
    Put it around the environments first, or wrappers inside will not know of the
    episodes that it ended.

    Raises:
        ValueError: If the limit is less than 1.
        TypeError: If the environments are not known to reset some of them alone.
    """

    resets_some = True
    carried = ("elapsed",)

    def __init__(self, envs: VectorEnv, max_episode_steps: int) -> None:
        super().__init__(envs)
        check_range("max_episode_steps", max_episode_steps, 1)
        self.max_episode_steps = max_episode_steps
        self.elapsed = self.zeros(torch.int64)

    def after_step(self, step: Step) -> Step:
        elapsed = self.elapsed + 1
        over = elapsed >= self.max_episode_steps
        cut = over & ~step.ended  # not ended by the environments inside
        step = step._replace(truncated=step.truncated | over)
        self.elapsed = elapsed.masked_fill(step.ended, 0)
        return self.reset_where(step, cut)
