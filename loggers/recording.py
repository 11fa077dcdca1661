"""One video: episodes of a trainer's agent as an MP4 file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments
from yieldrl.loggers.encoding import mp4

if TYPE_CHECKING:
    import numpy as np


def record_video(
    trainer: Any,
    path: str | Path,
    episodes: int = 1,
    seed: int | None = None,
    *,
    fps: float | None = None,
) -> Path:
    """Record whole episodes, each with its last frame, as an MP4 file.

    The file appears when it is complete.

    Args:
        trainer: A trainer; its state is not touched.
        path: The file to write; missing folders are made.
        episodes: How many episodes.
        seed: Seed of the first episode, the others get those that follow; by default
            that of the trainer's evaluations.
        fps: Frames a second; by default what the environment says, or 30.

    Raises:
        DiskFullError: If there is no room for the file.
        ImportError: If imageio-ffmpeg is not installed.
        ValueError: If the environment draws no pictures, or pictures of several sizes,
            or the path has another ending than `.mp4`.
    """
    from yieldrl.envs import make_eval

    arguments.package("imageio_ffmpeg", extra="video")
    arguments.whole("episodes", episodes, low=1)
    path = Path(path).absolute()
    if path.suffix != ".mp4":
        raise ValueError(f"path = {str(path)!r}: a video's name ends in .mp4")
    envs = make_eval(
        trainer.evaluator.source,
        dataclasses.replace(trainer.config, vectorization="sync"),
        device=str(trainer.agent.device),
        num_envs=1,
        render_mode="rgb_array",
    )
    envs = trainer.wrap_envs(envs)
    first = trainer.evaluator.seed if seed is None else seed
    try:
        with mp4(path, fps or envs.metadata.get("render_fps", 30)) as write:
            frames = _frames(trainer.agent, envs, range(first, first + episodes))
            for frame in _of_one_size(frames, trainer.config.env_id):
                write(frame)
    finally:
        envs.close()
    return path


def _frames(agent: Any, envs: Any, seeds: Iterable[int]) -> Iterator[np.ndarray]:
    """All frames of an episode for each seed; the last one only if it can be shown."""
    shows_end = _stay_at_the_end(envs)
    for seed in seeds:
        obs, _ = envs.reset(seed=seed)
        if getattr(agent, "has_memory", False):
            agent.begin_episode()
        yield _frame(envs.render())
        ended = False
        while not ended:
            obs, _, terminated, truncated, _ = envs.step(agent.predict(obs))
            ended = bool(terminated[0] or truncated[0])
            if shows_end or not ended:
                yield _frame(envs.render())


def _stay_at_the_end(envs: Any) -> bool:
    """Let an episode that ended stay there to be drawn; whether that was possible.

    In SAME_STEP mode `render()` would show the episode after it.
    """
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    from yieldrl.envs import TorchVectorEnv

    if envs.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
        return True
    if isinstance(envs, TorchVectorEnv):
        envs.autoreset_mode = AutoresetMode.DISABLED
        return True
    if isinstance(envs, SyncVectorEnv):
        single: Any = _ResetBySeed(envs.envs[0])
        envs.envs[0] = single
        return True
    return False


class _ResetBySeed:
    """An environment that ignores automatic resets, which have no seed."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self._obs: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, action: Any) -> Any:
        answer = self.env.step(action)
        self._obs = answer[0]
        return answer

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is None:
            return self._obs, {}
        return self.env.reset(seed=seed, options=options)


def _frame(pictures: Any) -> np.ndarray:
    """The picture of the first environment, cut to even sides as H.264 wants them."""
    import numpy as np

    if isinstance(pictures, tuple | list):
        pictures = pictures[0]
    if pictures is None:
        raise ValueError(
            "the environment drew no picture: it must support render_mode='rgb_array'"
        )
    picture = np.asarray(pictures)
    picture = picture[0] if picture.ndim == 4 else picture
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise ValueError(
            f"the environment drew a picture of shape {picture.shape} and dtype"
            f" {picture.dtype}: a video needs (height, width, 3) and uint8"
        )
    height, width = (side // 2 * 2 for side in picture.shape[:2])
    return np.ascontiguousarray(picture[:height, :width])


def _of_one_size(frames: Iterator[np.ndarray], env_id: str) -> Iterator[np.ndarray]:
    """The frames, as long as they have the size of the first."""
    first: Any = None
    for number, frame in enumerate(frames, 1):
        size = f"{frame.shape[1]} x {frame.shape[0]} pixels"
        first = first or size
        if size != first:
            raise ValueError(
                f"{env_id}: frame {number} of the video is {size}, those before it are"
                f" {first}, and a video has one size: render() must return pictures of"
                " one size"
            )
        yield frame
