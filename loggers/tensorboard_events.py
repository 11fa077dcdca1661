"""Logs for TensorBoard."""

import io
import itertools
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic.dataclasses import dataclass

from yieldrl.loggers import files
from yieldrl.loggers.answers import latest_answer
from yieldrl.loggers.writer import Write, Writer

_FILES = "events.out.tfevents.*"
_numbers = itertools.count()
ANSWERS = 100  # at most, that are written in a run


@dataclass(eq=False)
class tensorboard(Writer):  # noqa: N801 (used like a function)
    """Write event files to `tensorboard` in the run's folder.

    `tensorboard --logdir runs` shows all runs. Tags are `train/loss`,
    `collect/episode_return`, `evaluate/episode_return` and so on, over environment
    steps; the config is under Text, and if actions are text some answers with their
    prompts and rewards. When a run continues from a checkpoint, points that were
    written after it are removed.
    """

    @contextmanager
    def open(self, trainer: Any, position: dict[str, int] | None) -> Iterator[Write]:
        """Truncate the event files of former loops to their sizes; open a new one."""
        folder = trainer.run.claim() / "tensorboard"
        step, former = trainer.agent.sample_step, sorted(folder.glob(_FILES))
        if position is not None:
            for path in former:
                size = position.get(path.name, 0)
                os.truncate(path, min(size, path.stat().st_size))
        if former:
            # As by `purge_step`: TensorBoard drops older points from this step on.
            first = _event(step + 1, session_log={"status": "START"})
        else:
            config = json.dumps(trainer.config.to_dict(), indent=2, default=str)
            first = _text(step, "config", f"```json\n{config}\n```")
        # TensorBoard reads files in alphabetical order.
        number = f"{os.getpid()}.{next(_numbers):06}"
        name = f"{time.time():.0f}.{socket.gethostname()}.{number}"
        path = folder / _FILES.replace("*", name)
        header = _records([_event(0, file_version="brain.Event:2"), first])
        between = max(1, trainer.config.total_steps // ANSWERS)
        answered = step // between

        def write(rows: list[Any]) -> dict[str, int]:
            nonlocal answered
            events, step = [*_points(rows)], trainer.agent.sample_step
            if step // between > answered and (answer := latest_answer(trainer)):
                events.append(_text(step, "answer", f"```\n{answer}\n```"))
                answered = step // between
            # Unlike `SummaryWriter`, without a thread: a full disk is an error here.
            files.append(path, _records(events), header)
            return {each.name: each.stat().st_size for each in folder.glob(_FILES)}

        yield write


def _points(rows: list[Any]) -> Iterator[Any]:
    for row in rows:
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


def _records(events: Any) -> bytes:
    """Events in the file format, each with its length and checksums."""
    from tensorboard.summary.writer.record_writer import RecordWriter

    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    for event in events:
        writer.write(event.SerializeToString())
    return buffer.getvalue()
