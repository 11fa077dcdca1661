"""Chapter 13, batched worlds and throughput."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from yieldrl.envs.classic_control import CartPoleVectorEnv


class Answer(NamedTuple):
    """What a step of N environments comes to, in SAME_STEP mode."""

    state: Tensor  # of each environment after the step, `[D, N]`
    elapsed: Tensor  # how many steps its episode has had, int64 `[N]`
    obs: Tensor  # the observation of that state, `[N, D]`
    reward: Tensor  # `[N]`
    terminated: Tensor  # where an episode ended, bool `[N]`
    truncated: Tensor  # where an episode was cut, bool `[N]`
    final_obs: Tensor  # what the action led to, before any reset, `[N, D]`


def step(
    world: Any, state: Tensor, elapsed: Tensor, action: Tensor, noise: Tensor
) -> Answer:
    """Step N environments; where an episode ends, a new one begins within the step.

    Args:
        world: Has three functions of all N, and a number:
            `dynamics(state, action)` gives the next state, rewards `[N]` and where
            an episode terminated, bool `[N]`;
            `initial_state(noise)` gives N first states, a column of noise each;
            `observe(state)` gives observations `[N, D]`;
            `limit`, the number of steps after which an episode is cut.
        state: Of each environment, `[D, N]`.
        elapsed: Steps that each episode has had before this one, int64 `[N]`.
        action: `[N]`.
        noise: Random numbers `[K, N]`, for those that begin.

    Returns:
        New tensors; the arguments stay as they are.
    """
    last, reward, terminated = world.dynamics(state, action)
    # The gap. Eight lines are enough:
    #   which episodes are cut? which have ended, in one way or the other?
    #   first states, for all environments: those that need none ignore theirs
    #   `torch.where(ended, ..., ...)` chooses the state, and the count of steps
    #   `world.observe` says what is seen, and `Answer(...)` is all of it
    # No `if`, no `state[ended]`: both read values, and on a GPU reading is waiting.
    # gap: count the step first, then say which episodes are cut
    elapsed = elapsed + 1
    truncated = elapsed >= world.limit
    ended = terminated | truncated
    first = world.initial_state(noise)
    state = torch.where(ended, first, last)
    elapsed = torch.where(ended, 0, elapsed)
    obs, final_obs = world.observe(state), world.observe(last)
    return Answer(state, elapsed, obs, reward, terminated, truncated, final_obs)
    # end


class Carts(CartPoleVectorEnv):
    """The library's CartPole, whose steps are those above."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self._can_branch = False  # first states are made for all, as on a GPU

    @property
    def limit(self) -> int:
        """Steps after which an episode is cut."""
        return self._limit

    def pure_step(
        self, state: Any, elapsed: Tensor, ended: Tensor, action: Tensor, noise: Any
    ) -> tuple[Any, ...]:
        """The step, in the order in which the base class takes it."""
        state, elapsed, *rest = step(self, state, elapsed, action, noise)
        _, _, terminated, truncated, _ = rest
        return state, elapsed, terminated | truncated, *rest
