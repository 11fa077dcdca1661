"""Logs for Weights & Biases."""

import atexit
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from yieldrl.loggers import files
from yieldrl.loggers.base import close_all_loops, require_package
from yieldrl.loggers.writer import Write, Writer


class wandb(Writer):  # noqa: N801 (used like a function)
    """Log to Weights & Biases; `mode="offline"` needs no account and no network.

    Metrics are `train/loss`, `collect/episode_return` and so on, over `sample_step`.
    The run's id is kept in `wandb_id.txt` in the run's folder, so that every later
    loop, and a resumed run, continues the same run (`resume="allow"`). Offline each
    loop writes a separate folder: `wandb sync --append` joins them. ImportError if
    wandb is not installed.

    Args:
        project: The project on the site.
        every: Environment steps that one point averages over; 0 logs every log.
        init_kwargs: Further arguments of `wandb.init`: `mode` ("online", "offline",
            "disabled" or "shared"; by default that of the environment variable
            `WANDB_MODE`), `name`, `group`, `tags`, ...
    """

    def __init__(
        self, project: str = "yieldrl", *, every: int | None = None, **init_kwargs: Any
    ) -> None:
        super().__init__(every=every)
        require_package("wandb", extra="wandb")
        self.project, self.init_kwargs = project, init_kwargs
        self.destination = project, init_kwargs.get("id")

    @contextmanager
    def open(self, trainer: Any, position: Any) -> Iterator[Write]:
        """Start or continue the run."""
        import wandb as sdk

        path = trainer.run.claim() / "wandb_id.txt"
        if not path.exists():
            files.write_atomically(path, secrets.token_hex(4) + "\n")
        settings: dict[str, Any] = {
            "id": path.read_text("utf-8").strip(),
            "name": trainer.run.folder.name,
            "dir": str(trainer.run.folder),
            "config": trainer.config.to_dict(),
            "resume": "allow",
            "reinit": "create_new",  # one run per trainer, also in one process
            **self.init_kwargs,
        }
        run = sdk.init(project=self.project, **settings)
        atexit.unregister(close_all_loops)  # wandb has just registered its shutdown,
        atexit.register(close_all_loops)  # and what comes last runs first
        run.define_metric("*", step_metric="sample_step")

        def write(rows: list[Any]) -> None:
            for row in rows:
                logs = {f"{row['log_type']}/{k}": v for k, v in row["logs"].items()}
                steps = {name: row[name] for name in ("sample_step", "learn_step")}
                run.log({**logs, **steps})

        try:
            yield write
        finally:
            run.finish()
