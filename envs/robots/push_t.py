"""Push-T by its state, with scaled positions and the angle's sine and cosine."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from yieldrl.envs.robots.push_t_expert import place_to_push

_HALF_TABLE = 256  # pixels


class PushT(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Push-T by its state, with scaled positions and the angle's sine and cosine.

    The environment's numbers are pixels of a table of 512 and an angle. Here places,
    those that actions send the disk to as well, count from the middle of the table in
    halves of it, and the angle is its sine and cosine: float32 `[6]` for `[5]`.

    Chi et al. 2023, "Diffusion Policy", arXiv:2303.04137.

    Raises:
        ValueError: If observations are not 5 numbers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        if env.observation_space.shape != (5,):
            raise ValueError(
                f"{env} observes {env.observation_space}, and Push-T's state is 5"
                f" numbers: put {type(self).__name__} around it with obs_type='state'"
            )
        self.observation_space = Box(-1, 1, (6,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return on_the_table(obs), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        place = (np.asarray(action, np.float64) + 1) * _HALF_TABLE
        obs, reward, terminated, truncated, info = self.env.step(place)
        return on_the_table(obs), reward, terminated, truncated, info

    def expert(self) -> Any:
        """The disk's target by the rule `place_to_push`, float32 `[2]`."""
        place = place_to_push(*self._state()) / _HALF_TABLE - 1
        return place.clip(-1, 1).astype(np.float32)

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        """The disk's place and the T's pose, in pixels and radians."""
        world: Any = self.unwrapped
        block = world.block
        return np.array(world.agent.position), np.array([*block.position, block.angle])


def on_the_table(obs: np.ndarray) -> np.ndarray:
    """The state `[5]` of Push-T in halves of its table, float32 `[6]`."""
    places, angle = np.asarray(obs[:4]) / _HALF_TABLE - 1, obs[4]
    return np.array([*places.clip(-1, 1), np.sin(angle), np.cos(angle)], np.float32)
