"""Videos of episodes: during training, or one on request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from yieldrl.loggers import files
from yieldrl.loggers.answers import writes
from yieldrl.loggers.base import Logger, Stream, in_notebook, require_package

if TYPE_CHECKING:
    import numpy as np


@dataclass(eq=False)
class video(Logger):  # noqa: N801 (used like a function)
    """Record an episode every `every` steps, and when training has finished.

    Each video uses a new environment, so that training is not affected, and
    deterministic actions. Files are `videos/step_000050000.mp4` and so on in the run's
    folder; in a notebook they are also shown. ImportError without imageio-ffmpeg.
    """

    every: NonNegativeInt = 50_000
    """Environment steps between videos; 0 records only at the end."""

    def __post_init__(self) -> None:
        require_package("imageio_ffmpeg", extra="video")

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Record between logs when due, and at the end unless it was just done."""
        refuse_video(trainer)
        folder = trainer.run.claim() / "videos"
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
        record_video(trainer, path)
        if in_notebook():
            from IPython.display import Video, display

            display(Video(str(path), embed=True))


def refuse_video(trainer: Any) -> None:
    """Raise ValueError if the environment is all text: there are no frames."""
    if writes(trainer):
        raise ValueError(
            f"{trainer.config.env_id} is text and draws no pictures: leave the video"
            " out, the progress bar and TensorBoard show answers"
        )


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
    refuse_video(trainer)
    require_package("imageio_ffmpeg", extra="video")
    if (path := Path(path).absolute()).suffix != ".mp4":
        raise ValueError(f"path = {str(path)!r}: a video's name ends in .mp4")
    envs = drawn(trainer, "rgb_array")
    first = trainer.evaluator.seed if seed is None else seed
    with closing(envs):
        pictures = _pictures(trainer.agent, envs, range(first, first + episodes))
        return mp4(path, pictures, fps or envs.metadata.get("render_fps", 30))


def drawn(trainer: Any, render_mode: str | None) -> Any:
    """One environment like those of a trainer's evaluations, drawn in this mode."""
    from yieldrl.envs import make_eval

    envs = make_eval(
        trainer.evaluator.source,
        dataclasses.replace(trainer.config, vectorization="sync"),
        device=str(trainer.agent.device),
        num_envs=1,
        render_mode=render_mode,
    )
    return trainer.wrap_envs(envs, training=False)


def mp4(path: Path, pictures: Iterable[Any], fps: float) -> Path:
    """Write pictures `[H, W, 3]`, uint8, all of one size, as a video.

    Odd sides lose a pixel, because H.264 requires even ones. The file appears when it
    is complete. ValueError if something else than such a picture is given, WriteError
    if the encoder cannot write.
    """
    from imageio_ffmpeg import count_frames_and_secs, write_frames

    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    options: Any = {"fps": fps, "macro_block_size": 2, "ffmpeg_log_level": "error"}
    encoder: Any = None
    count, shape, written = 0, (), 0
    with files.naming_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            for count, picture in enumerate(pictures, 1):
                frame = _frame(picture)
                if encoder is None:
                    shape = frame.shape
                    encoder = write_frames(temporary, shape[1::-1], **options)
                    encoder.send(None)
                if frame.shape != shape:
                    raise ValueError(
                        f"frame {count} of the video is {frame.shape}, those before it"
                        f" are {shape}: render() must return pictures of one size"
                    )
                encoder.send(frame)
            encoder.close()  # waits for ffmpeg, and does not say if it failed
            with suppress(RuntimeError):  # a file that is cut off
                written = count_frames_and_secs(temporary)[0]
            if written != count:
                raise files.WriteError(path, "ffmpeg did not write all frames")
            return temporary.replace(path)
        finally:
            if encoder is not None:
                encoder.close()
            temporary.unlink(missing_ok=True)


def _frame(picture: Any) -> np.ndarray:
    """The first environment's picture, cropped to even sides."""
    import numpy as np

    frame = np.asarray(picture[0] if isinstance(picture, tuple | list) else picture)
    frame = frame[0] if frame.ndim == 4 else frame
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise ValueError(
            f"the environment drew a picture of shape {frame.shape} and dtype"
            f" {frame.dtype}: it must support render_mode='rgb_array', and a video"
            " needs (height, width, 3) and uint8"
        )
    height, width = (side // 2 * 2 for side in frame.shape[:2])
    return np.ascontiguousarray(frame[:height, :width])


def _pictures(agent: Any, envs: Any, seeds: Iterable[int]) -> Iterator[Any]:
    """All pictures of complete episodes, one for each seed."""
    shows_end = _stay_at_the_end(envs)
    for seed in seeds:
        obs, _ = envs.reset(seed=seed)
        if getattr(agent, "has_memory", False):
            agent.begin_episode()
        ended = False
        while not ended:
            yield _picture(envs)
            obs, _, terminated, truncated, _ = envs.step(agent.predict(obs))
            ended = bool(terminated[0] or truncated[0])
        if shows_end:
            yield _picture(envs)


def _picture(envs: Any) -> Any:
    try:
        return envs.render()
    except Exception as reason:
        raise ValueError(
            f"the environment draws no picture here: {reason}. Without a screen MuJoCo"
            " needs MUJOCO_GL=egl, or MUJOCO_GL=osmesa, and a library of the system"
        ) from reason


def _stay_at_the_end(envs: Any) -> bool:
    """Keep environments from resetting at an end; returns whether they stay there."""
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    from yieldrl.envs import TorchVectorEnv

    if isinstance(envs, TorchVectorEnv):
        envs.autoreset_mode = AutoresetMode.DISABLED
    elif isinstance(envs.unwrapped, SyncVectorEnv):  # in wrappers too
        single: Any = envs.unwrapped.envs[0]
        reset = single.reset

        def reset_by_seed(*, seed: int | None = None, options: Any = None) -> Any:
            if seed is None:  # at an end; nobody reads the observation
                return single.observation_space.sample(), {}
            return reset(seed=seed, options=options)

        single.reset = reset_by_seed
    else:
        return envs.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP
    return True
