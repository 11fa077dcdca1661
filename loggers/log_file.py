"""A logger that appends to one text file: what CSV and JSON Lines have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from yieldrl.loggers import arguments, files
from yieldrl.loggers.writer import Writer

if TYPE_CHECKING:
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
    def open(self, trainer: Any) -> Iterator[Callable[[list[Row]], None]]:
        """A function that appends to the file."""
        path = self._file(trainer)
        first = f"{self.header}\n".encode() if self.header else b""
        yield lambda rows: files.append(path, self.lines(rows).encode(), first)

    def position(self, trainer: Any) -> int:
        """The size of the file in bytes."""
        return files.size(self._file(trainer))

    def rewind(self, trainer: Any, position: int | None) -> None:
        """Cut the file back to a size, and drop rows beyond the trainer's steps."""
        now = trainer.agent.sample_step, trainer.agent.learn_step
        path = self._file(trainer)
        files.rewind(path, now, self.steps_of, self.header, position)

    def _file(self, trainer: Any) -> Path:
        return files.place(trainer, self.path, self.file_name)

    @staticmethod
    @abstractmethod
    def steps_of(line: str) -> files.Steps:
        """The steps that a line was written at; any error says it is no such line."""

    @staticmethod
    @abstractmethod
    def lines(rows: list[Row]) -> str:
        """Rows as whole lines of text."""
