"""HalfCheetah: a flat cat that is paid for running."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from yieldrl.envs.physics.backend import State
from yieldrl.envs.physics.legged import RunningVectorEnv


class HalfCheetahVectorEnv(RunningVectorEnv):
    """N half cheetahs, as gymnasium's HalfCheetah-v5.

    Observations `[N, 17]`: positions without the first, which is how far it has come,
    and velocities. Actions `[N, 6]` in [-1, 1]: torques. Episodes never terminate.

    Args:
        num_envs: N, the number of cheetahs.
        xml_file: The model, looked for among gymnasium's unless it is a path.
        frame_skip: Steps of the physics in a step of the environment.
        forward_reward_weight: Reward for a metre per second.
        ctrl_cost_weight: Price of the actions' squares.
        reset_noise_scale: First positions are uniform this far around the model's own,
            first velocities normal with this standard deviation.
        exclude_current_positions_from_observation: Whether x is left out.
        kwargs: Arguments of `PhysicsVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        xml_file: str = "half_cheetah.xml",
        frame_skip: int = 5,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.1,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            num_envs,
            xml_file=xml_file,
            frame_skip=frame_skip,
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            reset_noise_scale=reset_noise_scale,
            normal_velocities=True,
            skipped=int(exclude_current_positions_from_observation),
            **kwargs,
        )

    def parts(self, state: State) -> list[Tensor]:
        """Positions and velocities."""
        return [state["qpos"][self.skipped :], state["qvel"]]
