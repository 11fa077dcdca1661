"""Chapter 16, from an MLP to vision-language-action policies."""

from typing import Any

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.envs.autoreset import Step
from yieldrl.envs.wrappers import ActionChunks, BatchWrapper


def chunk_sums(
    reward: Tensor, terminated: Tensor, truncated: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What chunks came to: their reward, discount and number of steps, `[N]` each.

    Args:
        reward: Of the steps of a chunk, in N environments: `[L, N]`.
        terminated: Bool `[L, N]`; the episode ended with that step.
        truncated: Bool `[L, N]`; it was cut there, though the world would have gone on.
        gamma: Discount of a single step.

    Returns:
        `sum_{i<k} gamma^i r_i` and `gamma^k`, of the dtype of `reward`, and `k`, int64.
        The arguments stay as they are.
    """
    # The gap. A batch is stepped as a whole, so there are always L rows. If an episode
    # ends in step i, that step still counts (k = i + 1). All rows below it are of an
    # episode that is not seen, whatever they say.
    #
    # A loop over the rows will do, with three sums and one mask that are carried along:
    # which environments are still running. Does a step that ends an episode change it
    # before the step counts, or after?
    # gap: carry `running` [N] along, and sum where it is True
    total, discount = torch.zeros_like(reward[0]), torch.ones_like(reward[0])
    num_steps = torch.zeros_like(terminated[0], dtype=torch.int64)
    running = torch.ones_like(terminated[0])
    for row, ended in zip(reward, terminated | truncated, strict=True):
        total = total + (discount * row).where(running, 0.0)
        discount = (gamma * discount).where(running, discount)
        num_steps = num_steps + running
        running = running & ~ended
    return total, discount, num_steps
    # end


class Noted(BatchWrapper):
    """Environments whose steps are noted."""

    steps: list[Step]

    def advance(self, actions: Any) -> Step:
        """Step them once, and note it."""
        self.steps.append(super().advance(actions))
        return self.steps[-1]


class Chunks(ActionChunks, Noted):
    """The library's chunks, with the sums above in the place of its own."""

    def advance(self, actions: Any) -> Step:
        """Execute chunks `[N, L, ...]`; one step that sums up all of it."""
        self.steps = []
        step = super().advance(actions)
        reward = torch.stack([of.reward for of in self.steps])
        terminated = torch.stack([of.terminated for of in self.steps])
        truncated = torch.stack([of.truncated for of in self.steps])
        sums = chunk_sums(reward, terminated, truncated, self.gamma)
        named = zip(("reward", "discount", "num_steps"), sums, strict=True)
        return step._replace(info={**step.info, **dict(named)})


class Trainer(ppo.Trainer):
    """PPO that chooses two actions at a time."""

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Environments that take the chunks above."""
        return Chunks(envs, 2, gamma=self.config.gamma)
