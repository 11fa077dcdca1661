"""Mountain car with a continuous push: pushes cost, and the goal pays 100."""

from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.mountain_car import MountainCarVectorEnv


class MountainCarContinuousVectorEnv(MountainCarVectorEnv):
    """Gymnasium's MountainCarContinuous-v0 as N environments on a device.

    The car, hills and first states are those of `MountainCarVectorEnv`; the action is a
    push `[N, 1]`, clipped to [-1, 1]. The reward is 100 for arriving, minus a tenth of
    the action's square (of the action as it is given, not clipped). Episodes are cut
    after 999 steps. Gradients flow through the step where nothing is at a limit.

    Differs from gymnasium, which rounds the state to float32 after every step; here the
    state has the precision of `dtype`.

    Args:
        power: What a full push adds to the velocity: a number, or one per car, `[N]`.
        kwargs: Arguments of `MountainCarVectorEnv` and `TorchVectorEnv`.
    """

    gymnasium_id = "MountainCarContinuous-v0"
    single_action_space = spaces.Box(-1.0, 1.0, (1,))
    goal_position = 0.45

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = 999,
        power: float | Tensor = 0.0015,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_envs, max_episode_steps=max_episode_steps, force=power, **kwargs
        )

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        action = action[:, 0]
        state, terminated = self.drive(state, action.clamp(-1, 1) * self.force)
        reward = torch.where(terminated, 100.0, 0.0) - action.square() * 0.1
        return state, reward, terminated
