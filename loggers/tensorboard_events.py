"""Logs for TensorBoard."""

import io
import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yieldrl.loggers import files
from yieldrl.loggers.answers import Shown
from yieldrl.loggers.base import absolute
from yieldrl.loggers.windowed_means import Row
from yieldrl.loggers.writer import Writer

_FILES = "events.out.tfevents.*"
_numbers = itertools.count()


@dataclass(eq=False)
class tensorboard(Writer):  # noqa: N801 (used like a function)
    """Write event files: `tensorboard --logdir runs` shows all runs.

    Tags are `train/loss`, `collect/episode_return`, `evaluate/episode_return` and so
    on, over environment steps; the config is under Text, and if actions are text
    some answers with their prompts and rewards. When a run continues from a checkpoint,
    points that were written after it are removed.
    """

    shows_answers = True

    log_dir: str | Path | None = None
    """Folder, for only one trainer; by default `tensorboard` in
    `trainer.run.folder`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log_dir = self.destination = absolute("log_dir", self.log_dir)

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Callable[[list[Row]], None]]:
        """Open a new event file."""
        folder = self._folder(trainer)
        step = trainer.agent.sample_step
        if any(folder.glob(_FILES)):
            # A START event makes TensorBoard drop older points from this step on.
            first = _event(step + 1, session_log={"status": "START"})
        else:
            config = json.dumps(trainer.config.to_dict(), indent=2, default=str)
            first = _text(step, "config", f"```json\n{config}\n```")
        # TensorBoard reads files in alphabetical order.
        number = f"{os.getpid()}.{next(_numbers):06}"
        name = f"{time.time():.0f}.{socket.gethostname()}.{number}"
        path = folder / _FILES.replace("*", name)
        # Unlike `SummaryWriter`, without a thread: a full disk is an error here.
        files.append(path, _records([_event(0, file_version="brain.Event:2"), first]))
        yield lambda rows: files.append(path, _records(_points(rows)))

    def position(self, trainer: Any) -> dict[str, int]:
        """The size of every event file in bytes."""
        paths = sorted(self._folder(trainer).glob(_FILES))
        return {path.name: path.stat().st_size for path in paths}

    def rewind(self, trainer: Any, position: dict[str, int] | None) -> None:
        """Truncate files to their sizes in `position`, and delete newer files."""
        if position is None:
            return  # the START event of `open` hides later steps
        for path in self._folder(trainer).glob(_FILES):
            if path.name not in position:
                path.unlink()
            elif position[path.name] < path.stat().st_size:
                os.truncate(path, position[path.name])

    def _folder(self, trainer: Any) -> Path:
        return files.place(trainer, self.log_dir, "tensorboard")


def _points(rows: list[Row]) -> Iterator[Any]:
    for row in rows:
        if row["log_type"] == "answer":
            text = f"```\n{Shown(**row['logs'])}\n```"
            yield _text(row["sample_step"], "answer", text)
            continue
        for name, value in row["logs"].items():
            point = {"tag": f"{row['log_type']}/{name}", "simple_value": value}
            yield _event(row["sample_step"], summary={"value": [point]})


def _text(step: int, tag: str, markdown: str) -> Any:
    from torch.utils.tensorboard.summary import text

    return _event(step, summary=text(tag, markdown))


def _event(step: int, **content: Any) -> Any:
    from tensorboard.compat.proto import event_pb2

    event: Any = event_pb2.__dict__["Event"]  # unknown to type checkers
    return event(wall_time=time.time(), step=step, **content)


def _records(events: Iterable[Any]) -> bytes:
    """Events in the file format, each with its length and checksums."""
    from tensorboard.summary.writer.record_writer import RecordWriter

    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    for event in events:
        writer.write(event.SerializeToString())
    return buffer.getvalue()
