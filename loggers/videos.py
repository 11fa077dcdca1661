"""Videos of episodes: during training, or one on request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yieldrl.loggers import arguments, files
from yieldrl.loggers.answers import refuse_video
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.encoding import mp4, to_frame
from yieldrl.loggers.notebook import in_notebook
from yieldrl.loggers.write_errors import refuse_file

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
    """Folder, for only one trainer; by default `videos` in `trainer.run_dir`."""

    fps: float | None = None
    """Frames per second; by default that of the environment's metadata, or 30."""

    def __post_init__(self) -> None:
        arguments.package("imageio_ffmpeg", extra="video")
        arguments.whole("every", self.every, low=0)
        arguments.whole("episodes", self.episodes, low=1)
        if self.fps is not None:
            arguments.number("fps", self.fps, low=1)
        self.folder = self.destination = arguments.path("folder", self.folder)

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Record between logs when due, and at the end unless it was just done."""
        refuse_video(trainer)
        folder = files.place(trainer, self.folder, "videos")
        refuse_file(folder)
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

    The file appears when it is complete. ImportError without imageio-ffmpeg,
    DiskFullError if there is no room, ValueError if the environment draws no pictures,
    or pictures of several sizes.

    Args:
        trainer: A trainer; its state does not change.
        path: The file to write, which ends in `.mp4`; creates missing folders.
        episodes: Number of episodes.
        seed: Seed of the first episode, the others have the following numbers; by
            default that of the trainer's evaluations.
        fps: Frames per second; by default as in the environment's metadata, or 30.

    Raises:
        DiskFullError: If there is no room for the file.
        ImportError: If imageio-ffmpeg is not installed.
        ValueError: If the environment draws no pictures, or of several sizes, or the
            path does not end in `.mp4`.
    """
    from yieldrl.envs import make_eval

    refuse_video(trainer)
    arguments.package("imageio_ffmpeg", extra="video")
    arguments.whole("episodes", episodes, low=1)
    if (path := Path(path).absolute()).suffix != ".mp4":
        raise ValueError(f"path = {str(path)!r}: a video's name ends in .mp4")
    envs = make_eval(
        trainer.evaluator.source,
        dataclasses.replace(trainer.config, vectorization="sync"),
        device=str(trainer.agent.device),
        num_envs=1,
        render_mode="rgb_array",
    )
    envs = trainer.wrap_envs(envs)
    try:
        with mp4(path, fps or envs.metadata.get("render_fps", 30)) as write:
            frames, size = _frames(trainer, envs, seed, episodes), ""
            for number, frame in enumerate(frames, 1):
                found = f"{frame.shape[1]} x {frame.shape[0]} pixels"
                size = size or found
                if found != size:
                    raise ValueError(
                        f"{trainer.config.env_id}: frame {number} of the video is"
                        f" {found}, those before it are {size}, and a video has one"
                        " size: render() must return pictures of one size"
                    )
                write(frame)
    finally:
        envs.close()
    return path


def _frames(
    trainer: Any, envs: Any, seed: int | None, episodes: int
) -> Iterator[np.ndarray]:
    """All frames of complete episodes, the first one reset with the seed."""
    agent = trainer.agent
    first = trainer.evaluator.seed if seed is None else seed
    shows_end = _stay_at_the_end(envs)
    for seed in range(first, first + episodes):
        obs, _ = envs.reset(seed=seed)
        if getattr(agent, "has_memory", False):
            agent.begin_episode()
        ended = False
        while not ended:
            yield to_frame(envs.render())
            obs, _, terminated, truncated, _ = envs.step(agent.predict(obs))
            ended = bool(terminated[0] or truncated[0])
        if shows_end:
            yield to_frame(envs.render())


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
