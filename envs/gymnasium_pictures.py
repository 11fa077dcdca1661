"""Pictures of a batched world, drawn by Gymnasium's environment of the same kind."""

from typing import Any, ClassVar

import gymnasium
import numpy as np

from yieldrl.envs.batched import TorchVectorEnv


class DrawnByGymnasium(TorchVectorEnv):
    """Base of worlds whose states Gymnasium's environment `gymnasium_id` can draw."""

    gymnasium_id: ClassVar[str]

    def draw(self, state: np.ndarray, index: int) -> np.ndarray:
        """The picture uint8 `[H, W, 3]`, drawn by gymnasium (with pygame)."""
        if self._painter is None:
            env: Any = gymnasium.make(self.gymnasium_id, render_mode="rgb_array")
            self._painter = env.unwrapped
            self._painter.last_u = None  # of the pendulum, which shows its torque
        self._painter.state = state
        return self._painter.render()
