"""One video: episodes of a trainer's agent as an MP4 file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments

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
        ImportError: If imageio-ffmpeg is not installed.
        ValueError: If the environment draws no pictures, or the path has another
            ending than `.mp4`.
    """
    arguments.package("imageio_ffmpeg", extra="video")
    arguments.whole("episodes", episodes, low=1)
    path = Path(path).absolute()
    if path.suffix != ".mp4":
        raise ValueError(f"path = {str(path)!r}: a video's name ends in .mp4")
    envs = _make_envs(trainer)
    first = trainer.evaluation_seed if seed is None else seed
    try:
        with _mp4(path, fps or envs.metadata.get("render_fps", 30)) as write:
            for frame in _frames(trainer.agent, envs, first, episodes):
                write(frame)
    finally:
        envs.close()
    return path


def _make_envs(trainer: Any) -> Any:
    from yieldrl import envs as environments

    return environments.make_eval(
        trainer.eval_source,
        dataclasses.replace(trainer.config, vectorization="sync"),
        device=str(trainer.agent.device),
        num_envs=1,
        render_mode="rgb_array",
    )


def _frames(agent: Any, envs: Any, first: int, episodes: int) -> Iterator[np.ndarray]:
    """All frames of the episodes that begin with the seeds from `first` on."""
    shows_end = _stay_at_the_end(envs)
    for seed in range(first, first + episodes):
        yield from _episode(agent, envs, seed, shows_end)


def _episode(agent: Any, envs: Any, seed: int, shows_end: bool) -> Iterator[np.ndarray]:
    """All frames of one episode; the last only if it can be shown."""
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
    """An environment that takes no notice of automatic resets, which have no seed."""

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
    picture = np.asarray(pictures, dtype=np.uint8)
    picture = picture[0] if picture.ndim == 4 else picture
    height, width = (side // 2 * 2 for side in picture.shape[:2])
    return np.ascontiguousarray(picture[:height, :width])


@contextmanager
def _mp4(path: Path, fps: Any) -> Iterator[Callable[[np.ndarray], None]]:
    """A function that takes frames; the file appears when all were written."""
    from imageio_ffmpeg import write_frames

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    encoder: Any = None

    def write(frame: np.ndarray) -> None:
        nonlocal encoder
        if encoder is None:
            size = frame.shape[1], frame.shape[0]
            encoder = write_frames(temporary, size, fps=fps, macro_block_size=2)
            encoder.send(None)
        encoder.send(frame)

    try:
        yield write
        encoder.close()  # waits for the encoder to finish
        temporary.replace(path)
    finally:
        if encoder is not None:
            encoder.close()
        temporary.unlink(missing_ok=True)
