"""A logger that appends to one text file: what CSV and JSON Lines have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from yieldrl.loggers import arguments, files
from yieldrl.loggers.writer import Writer

if TYPE_CHECKING:
    from yieldrl.abstractions import Trainer
    from yieldrl.loggers.means import Row


@dataclass(eq=False)
class LogFile(Writer):
    """Appends rows to a file, after dropping those beyond the trainer's steps."""

    file_name: ClassVar[str]
    header: ClassVar[str] = ""

    path: str | Path | None = None
    """The file, of one trainer alone; by default `file_name` in `trainer.run_dir`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.path = arguments.path("path", self.path)

    @property
    def destination(self) -> Hashable:
        """The file."""
        return self.path

    @contextmanager
    def open(self, trainer: Trainer) -> Iterator[Callable[[list[Row]], None]]:
        """Rewind the file to the trainer's steps, then append."""
        path = Path(self.path or trainer.run_dir / self.file_name)
        now = trainer.agent.sample_step, trainer.agent.learn_step
        files.rewind(path, now, self.position, self.header)
        first = f"{self.header}\n" if self.header else ""
        yield lambda rows: files.append(path, self.lines(rows), first)

    @staticmethod
    @abstractmethod
    def position(line: str) -> files.Position:
        """The steps that a line was written at; any error says it is no such line."""

    @staticmethod
    @abstractmethod
    def lines(rows: list[Row]) -> str:
        """Rows as whole lines of text."""
