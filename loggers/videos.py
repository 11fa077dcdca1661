"""Videos while training: what the agent can do so far."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from yieldrl.loggers import arguments, files
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.notebook import in_notebook
from yieldrl.loggers.recording import record_video
from yieldrl.loggers.write_errors import refuse_file


@dataclass(eq=False)
class video(Logger):  # noqa: N801 (used like a function)
    """Record episodes every so many steps, and when training has finished.

    A new environment is made for each video, so that training is not disturbed, and
    actions are deterministic. Files are `videos/step_000050000.mp4` and so on; in a
    notebook they are shown too.

    Raises:
        ImportError: If imageio-ffmpeg is not installed.
    """

    destination = property(attrgetter("folder"))

    every: int = 50_000
    """Environment steps between videos; 0 records at the end alone."""

    episodes: int = 1
    """Episodes of each video."""

    folder: str | Path | None = None
    """Where, for one trainer alone; by default `videos` in `trainer.run_dir`."""

    fps: float | None = None
    """Frames a second; by default what the environment says, or 30."""

    def __post_init__(self) -> None:
        arguments.package("imageio_ffmpeg", extra="video")
        arguments.whole("every", self.every, low=0)
        arguments.whole("episodes", self.episodes, low=1)
        if self.fps is not None:
            arguments.number("fps", self.fps, low=1)
        self.folder = arguments.path("folder", self.folder)

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Record while logs pass, and at the end unless it was just done."""
        refuse_file(files.place(trainer, self.folder, "videos"))
        recorded = trainer.agent.sample_step
        for log in logs:
            step = log["sample_step"]
            if self.every and step // self.every > recorded // self.every:
                self._record(trainer)
                recorded = step
            yield log
        if trainer.agent.sample_step > recorded:
            self._record(trainer)

    def _record(self, trainer: Any) -> None:
        folder = files.place(trainer, self.folder, "videos")
        path = folder / f"step_{trainer.agent.sample_step:09d}.mp4"
        record_video(trainer, path, self.episodes, fps=self.fps)
        if in_notebook():
            from IPython.display import Video, display

            display(Video(str(path), embed=True))
