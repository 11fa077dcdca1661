"""Logs for Weights & Biases."""

from typing import Any

from yieldrl.loggers.tracker import Tracker


class wandb(Tracker):  # noqa: N801 (used like a function)
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

    package, kept, identity = "wandb", "wandb_id.txt", "id"

    def start(self, trainer: Any, token: str) -> Any:
        import wandb as sdk

        settings: dict[str, Any] = {
            "id": token,
            "name": trainer.run.folder.name,
            "dir": str(trainer.run.folder),
            "config": trainer.config.to_dict(),
            "resume": "allow",
            "reinit": "create_new",  # one run per trainer, also in one process
            **self.init_kwargs,
        }
        run = sdk.init(project=self.project, **settings)
        run.define_metric("*", step_metric="sample_step")
        return run

    def log(self, run: Any, metrics: dict[str, float], row: Any) -> None:
        steps = {name: row[name] for name in ("sample_step", "learn_step")}
        run.log({**metrics, **steps})
