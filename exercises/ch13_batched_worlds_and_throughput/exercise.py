"""Your turn: N worlds at once that cannot begin again. Fill the gap in `step`, then

    yieldrl check ch13

and, when all holds, train in what you wrote:

    python -m yieldrl.exercises.ch13_batched_worlds_and_throughput.exercise
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.envs.cartpole import CartPoleVectorEnv


class Answer(NamedTuple):
    """What a step of N environments comes to, in SAME_STEP mode.

    Attributes:
        state: Where everybody stands after the step, `[D, N]`.
        elapsed: Steps of the episode that everybody is in, int64 `[N]`.
        obs: What everybody sees there, `[N, D]`.
        reward: `[N]`.
        terminated: Whose episode ended, bool `[N]`.
        truncated: Whose episode was cut, bool `[N]`.
        final_obs: What the action led to, before anybody began anew, `[N, D]`.
    """

    state: Tensor
    elapsed: Tensor
    obs: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: Tensor


def step(
    world: Any, state: Tensor, elapsed: Tensor, action: Tensor, noise: Tensor
) -> Answer:
    """Step N environments; whose episode ends begins a new one within the step.

    Args:
        world: Has three functions of all N, and a number:
            `dynamics(state, action)` gives the next state, rewards `[N]` and who
            terminated, bool `[N]`;
            `initial_state(noise)` gives N first states, a column of noise each;
            `observe(state)` gives observations `[N, D]`;
            `limit`, the number of steps after which an episode is cut.
        state: Where everybody stands, `[D, N]`.
        elapsed: Steps that everybody's episode has had before this one, int64 `[N]`.
        action: `[N]`.
        noise: Random numbers `[K, N]`, for those that begin.

    Returns:
        New tensors; the arguments stay as they are.
    """
    last, reward, terminated = world.dynamics(state, action)
    truncated = torch.zeros_like(terminated)  # so far nobody is ever cut
    # The gap. Seven lines are enough:
    #   who is cut? who has ended, in one way or the other?
    #   first states, for everybody: who needs none throws it away
    #   `torch.where(ended, ..., ...)` says where everybody stands, and for how long
    # No `if`, no `state[ended]`: both look at numbers, and on a GPU looking is waiting.
    raise NotImplementedError("count the step first, then say who is cut")
    obs = final_obs = world.observe(last)
    return Answer(last, elapsed, obs, reward, terminated, truncated, final_obs)


class Carts(CartPoleVectorEnv):
    """The library's CartPole, whose steps are those above."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self._can_branch = False  # first states are made for everybody, as on a GPU

    @property
    def limit(self) -> int:
        """Steps after which an episode is cut."""
        return self._limit

    def pure_step(
        self, state: Any, elapsed: Tensor, ended: Tensor, action: Tensor, noise: Any
    ) -> tuple[Any, ...]:
        """The step, in the order in which the base class takes it."""
        answer = Answer(*step(self, state, elapsed, action, noise))
        ended = answer.terminated | answer.truncated
        return answer.state, answer.elapsed, ended, *answer[2:]


if __name__ == "__main__":
    settings: dict[str, Any] = {"num_envs": 64, "num_steps": 32, "num_minibatches": 16}
    settings |= {"total_steps": 100_000, "eval_every": 20_000}
    config = ppo.Config(env_id="yieldrl/CartPole-v1", **settings)
    for log in ppo.Trainer(config, envs=Carts(64), eval_envs="CartPole-v1")():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
