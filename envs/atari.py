"""Atari 2600 games in ALE's vector environment, and a wrapper that renders them."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from yieldrl.envs.arrays import ResetResult, StepResult

RAW = {"reward_clipping": False, "episodic_life": False}
"""Arguments for unclipped scores and whole games, for evaluation."""

PICTURES = {"grayscale": False, "img_height": 210, "img_width": 160, "stack_num": 1}


def make_atari(
    env_id: str, num_envs: int, *, render_mode: str | None = None, **kwargs: Any
) -> VectorEnv:
    """Games on C++ threads; observations `[N, 4, 84, 84]`: four grey frames, stacked.
    `kwargs` are those of `ale_py.vector_env.AtariVectorEnv`."""

    def games(**changes: Any) -> VectorEnv:
        return gym.make_vec(
            env_id,
            num_envs=num_envs,
            vectorization_mode="vector_entry_point",
            **{"autoreset_mode": AutoresetMode.SAME_STEP, **kwargs, **changes},
        )

    return games() if render_mode is None else Watched(games(), games(**PICTURES))


class Watched(VectorWrapper):
    """Renders games by playing copies: ALE's vector environment cannot render."""

    def __init__(self, envs: VectorEnv, pictures: VectorEnv) -> None:
        super().__init__(envs)
        self.pictures = pictures
        fps = 60 / (envs.spec.kwargs.get("frameskip", 4) if envs.spec else 4)
        self.metadata = {**envs.metadata, "render_fps": fps}
        self._frames = np.zeros((self.num_envs, 1, 210, 160, 3), np.uint8)

    @property
    def render_mode(self) -> str:
        return "rgb_array"

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        if seed is None:
            seed = int(np.random.default_rng().integers(2**30))
        self._frames, _ = self.pictures.reset(seed=seed, options=options)
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> StepResult:
        self._frames, *_ = self.pictures.step(actions)
        return self.env.step(actions)

    def render(self) -> tuple[np.ndarray, ...]:
        """Frames uint8 `[210, 160, 3]` of all games."""
        return tuple(self._frames[:, -1])

    def close(self, **kwargs: Any) -> None:
        self.pictures.close(**kwargs)
        self.env.close(**kwargs)
