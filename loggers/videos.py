"""Videos of episodes: during training, or one on request."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import files
from yieldrl.loggers.answers import refuse_video
from yieldrl.loggers.base import (
    Logger,
    Stream,
    absolute,
    check_number,
    check_whole,
    in_notebook,
    require_package,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(eq=False)
class video(Logger):  # noqa: N801 (used like a function)
    """Record episodes every `every` steps, and when training has finished.

    Each video uses a new environment, so that training is not affected, and
    deterministic actions. Files are `videos/step_000050000.mp4` and so on; in a
    notebook they are also shown. ImportError without imageio-ffmpeg.
    """

    every: int = 50_000
    """Environment steps between videos; 0 records only at the end."""

    episodes: int = 1
    """Episodes of each video."""

    folder: str | Path | None = None
    """Folder, for only one trainer; by default `videos` in `trainer.run.folder`."""

    fps: float | None = None
    """Frames per second; by default that of the environment's metadata, or 30."""

    def __post_init__(self) -> None:
        require_package("imageio_ffmpeg", extra="video")
        check_whole("every", self.every, low=0)
        check_whole("episodes", self.episodes, low=1)
        if self.fps is not None:
            check_number("fps", self.fps, low=1)
        self.folder = self.destination = absolute("folder", self.folder)

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Record between logs when due, and at the end unless it was just done."""
        refuse_video(trainer)
        folder = files.place(trainer, self.folder, "videos")
        recorded = trainer.agent.sample_step
        for log in logs:
            step = log["sample_step"]
            if self.every and step // self.every > recorded // self.every:
                self._record(trainer, folder)
                recorded = step
            yield log
        if trainer.agent.sample_step > recorded:
            self._record(trainer, folder)

    def _record(self, trainer: Any, folder: Path) -> None:
        path = folder / f"step_{trainer.agent.sample_step:09d}.mp4"
        record_video(trainer, path, self.episodes, fps=self.fps)
        if in_notebook():
            from IPython.display import Video, display

            display(Video(str(path), embed=True))


def record_video(
    trainer: Any,
    path: str | Path,
    episodes: int = 1,
    seed: int | None = None,
    *,
    fps: float | None = None,
) -> Path:
    """Record complete episodes, each with its last frame, as an MP4 file.

    The file appears when it is complete.

    Args:
        trainer: A trainer; its state does not change.
        path: The file to write, which ends in `.mp4`; creates missing folders.
        episodes: Number of episodes.
        seed: Seed of the first episode, the others have the following numbers; by
            default that of the trainer's evaluations.
        fps: Frames per second; by default as in the environment's metadata, or 30.

    Raises:
        ImportError: If imageio-ffmpeg is not installed.
        ValueError: If the environment draws no pictures, or of several sizes, or the
            path does not end in `.mp4`.
        WriteError: If the file cannot be written.
    """
    from yieldrl.envs import make_eval

    refuse_video(trainer)
    require_package("imageio_ffmpeg", extra="video")
    check_whole("episodes", episodes, low=1)
    if (path := Path(path).absolute()).suffix != ".mp4":
        raise ValueError(f"path = {str(path)!r}: a video's name ends in .mp4")
    envs = make_eval(
        trainer.evaluator.source,
        dataclasses.replace(trainer.config, vectorization="sync"),
        device=str(trainer.agent.device),
        num_envs=1,
        render_mode="rgb_array",
    )
    envs = trainer.wrap_envs(envs, training=False)
    try:
        with mp4(path, fps or envs.metadata.get("render_fps", 30)) as write:
            for picture in _pictures(trainer, envs, seed, episodes):
                write(picture)
    finally:
        envs.close()
    return path


@contextmanager
def mp4(path: Path, fps: float) -> Iterator[Callable[[Any], None]]:
    """Yield a function that takes pictures `[H, W, 3]`, uint8, all of one size.

    Odd sides lose a pixel, because H.264 requires even ones. The file appears when it
    is complete. ValueError if something else than such a picture is given, WriteError
    if the encoder cannot write.
    """
    from imageio_ffmpeg import write_frames

    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    options: Any = {"fps": fps, "macro_block_size": 2, "ffmpeg_log_level": "error"}
    encoder: Any = None
    count, size = 0, (0, 0)

    def write(picture: Any) -> None:
        nonlocal encoder, count, size
        frame, count = _frame(picture), count + 1
        shape = frame.shape[1], frame.shape[0]
        if encoder is None:
            size = shape
            encoder = write_frames(temporary, size, **options)
            encoder.send(None)
        if shape != size:
            raise ValueError(
                f"frame {count} of the video is {shape[0]} x {shape[1]} pixels, those"
                f" before it are {size[0]} x {size[1]}, and a video has one size:"
                " render() must return pictures of one size"
            )
        try:
            encoder.send(frame)
        except OSError as error:
            raise files.WriteError(path, str(error).partition("\n")[0]) from error

    with files.naming_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield write
            if encoder is not None:
                encoder.close()  # waits for ffmpeg, and does not say if it failed
                if _count_frames(temporary) != count:
                    raise files.WriteError(path, "ffmpeg did not write all frames")
                temporary.replace(path)
        finally:
            if encoder is not None:
                encoder.close()
            temporary.unlink(missing_ok=True)


def _count_frames(path: Path) -> int | None:
    """The number of frames in a video; None if it is cut off."""
    from imageio_ffmpeg import count_frames_and_secs

    with suppress(RuntimeError):
        return count_frames_and_secs(path)[0]
    return None


def _frame(picture: Any) -> np.ndarray:
    """The first environment's picture, cropped to even sides."""
    import numpy as np

    if isinstance(picture, tuple | list):
        picture = picture[0]
    if picture is None:
        raise ValueError(
            "the environment drew no picture: it must support render_mode='rgb_array'"
        )
    picture = np.asarray(picture)
    picture = picture[0] if picture.ndim == 4 else picture
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise ValueError(
            f"the environment drew a picture of shape {picture.shape} and dtype"
            f" {picture.dtype}: a video needs (height, width, 3) and uint8"
        )
    height, width = (side // 2 * 2 for side in picture.shape[:2])
    return np.ascontiguousarray(picture[:height, :width])


def _pictures(
    trainer: Any, envs: Any, seed: int | None, episodes: int
) -> Iterator[Any]:
    """All pictures of complete episodes, the first one reset with the seed."""
    agent = trainer.agent
    first = trainer.evaluator.seed if seed is None else seed
    shows_end = _stay_at_the_end(envs)
    for seed in range(first, first + episodes):
        obs, _ = envs.reset(seed=seed)
        if getattr(agent, "has_memory", False):
            agent.begin_episode()
        ended = False
        while not ended:
            yield envs.render()
            obs, _, terminated, truncated, _ = envs.step(agent.predict(obs))
            ended = bool(terminated[0] or truncated[0])
        if shows_end:
            yield envs.render()


def _stay_at_the_end(envs: Any) -> bool:
    """Stop SAME_STEP environments from resetting at ends; returns whether they can."""
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
    """Wrapper that ignores automatic resets, which have no seed."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self._obs: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, action: Any) -> Any:
        self._obs, *rest = self.env.step(action)
        return self._obs, *rest

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is None:
            return self._obs, {}
        return self.env.reset(seed=seed, options=options)
