"""N worlds at once, and new episodes within the step that ends the old ones."""

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
    """Step N environments; whose episode ends begins a new one within the step."""
    last, reward, terminated = world.dynamics(state, action)
    elapsed = elapsed + 1
    truncated = elapsed >= world.limit
    ended = terminated | truncated
    first = world.initial_state(noise)
    state = torch.where(ended, first, last)
    elapsed = torch.where(ended, 0, elapsed)
    obs, final_obs = world.observe(state), world.observe(last)
    return Answer(state, elapsed, obs, reward, terminated, truncated, final_obs)


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
    config = ppo.Config(
        env_id="yieldrl/CartPole-v1",
        num_envs=64,
        num_steps=32,
        num_minibatches=16,
        total_steps=100_000,
        eval_every=20_000,
    )
    for log in ppo.Trainer(config, envs=Carts(64), eval_envs="CartPole-v1")():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
