"""Logs for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yieldrl.loggers import arguments
from yieldrl.loggers.writer import Writer

if TYPE_CHECKING:
    from yieldrl.abstractions import Trainer
    from yieldrl.loggers.means import Row


@dataclass(eq=False)
class tensorboard(Writer):  # noqa: N801 (used like a function)
    """Write event files: `tensorboard --logdir runs` shows all runs.

    Tags are `train/loss`, `collect/episode_return`, `evaluate/episode_return` and so
    on, over environment steps; the config is under Text. Each loop adds a file to the
    folder. Points beyond the trainer's steps are hidden when a run goes on from an
    older checkpoint.
    """

    log_dir: str | Path | None = None
    """The folder, of one trainer alone; by default `tensorboard` in
    `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.log_dir = arguments.path("log_dir", self.log_dir)

    @property
    def destination(self) -> Hashable:
        """The folder."""
        return self.log_dir

    @contextmanager
    def open(self, trainer: Trainer) -> Iterator[Callable[[list[Row]], None]]:
        """Begin an event file."""
        from torch.utils.tensorboard import SummaryWriter

        folder = Path(self.log_dir or trainer.run_dir / "tensorboard")
        is_new = not any(folder.glob("events.out.tfevents.*"))
        step = trainer.agent.sample_step
        events = SummaryWriter(
            str(folder), purge_step=None if is_new else step + 1, flush_secs=5
        )
        if is_new:
            config = json.dumps(trainer.config.to_dict(), indent=2, default=str)
            events.add_text("config", f"```json\n{config}\n```", step)

        def write(rows: list[Row]) -> None:
            for row in rows:
                for name, value in row["logs"].items():
                    tag = f"{row['log_type']}/{name}"
                    events.add_scalar(tag, value, row["sample_step"])

        try:
            yield write
        finally:
            events.close()
