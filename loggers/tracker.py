"""Base class of loggers that write to an experiment tracker by its package."""

import atexit
import secrets
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from yieldrl.loggers import files
from yieldrl.loggers.base import close_all_loops, require_package
from yieldrl.loggers.writer import Write, Writer


class Tracker(Writer):
    """Logs to a tracker, where a run of ours is one run, over all of its loops."""

    package: ClassVar[str]  # also the name of the extra that installs it
    kept: ClassVar[str]  # the file in the run's folder with its token
    identity: ClassVar[str]  # the argument of `init` that tells runs apart

    def __init__(
        self, project: str = "yieldrl", *, every: int | None = None, **init_kwargs: Any
    ) -> None:
        super().__init__(every=every)
        require_package(self.package, extra=self.package)
        self.project, self.init_kwargs = project, init_kwargs
        self.destination = project, init_kwargs.get(self.identity)

    @abstractmethod
    def start(self, trainer: Any, token: str) -> Any:
        """Start or continue the run with this token; the run of the package."""

    @abstractmethod
    def log(self, run: Any, metrics: dict[str, float], row: Any) -> None:
        """Log the metrics of a row, by their full names."""

    @contextmanager
    def open(self, trainer: Any, position: Any) -> Iterator[Write]:
        """Start or continue the run, whose token is kept in the run's folder."""
        path = trainer.run.claim() / self.kept
        if not path.exists():
            files.write_atomically(path, secrets.token_hex(4) + "\n")
        run = self.start(trainer, path.read_text("utf-8").strip())
        atexit.unregister(close_all_loops)  # it has just registered its own shutdown,
        atexit.register(close_all_loops)  # and what comes last runs first

        def write(rows: list[Any]) -> None:
            for row in rows:
                named = {f"{row['log_type']}/{k}": v for k, v in row["logs"].items()}
                self.log(run, named, row)

        try:
            yield write
        finally:
            run.finish()
