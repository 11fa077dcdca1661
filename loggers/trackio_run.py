"""Logs for Trackio."""

import contextvars
from typing import Any

from yieldrl.loggers.tracker import Tracker


class trackio(Tracker):  # noqa: N801 (used like a function)
    """Log to Trackio, a tracker on your own disk: no account, no network.

    `trackio show` opens its dashboard, with `train/loss`, `collect/episode_return` and
    so on over environment steps. Its database lies in `~/.cache/huggingface/trackio`,
    in the folder that the environment variable `TRACKIO_DIR` names, or on a Space of
    Hugging Face (`space_id="me/runs"`). A run is called like its folder, with a token
    that is kept in `trackio_id.txt` there, so that every later loop, and a resumed run,
    continues it (`resume="allow"`). ImportError if trackio is not installed.

    Args:
        project: The project, which `trackio show --project` names.
        every: Environment steps that one point averages over; 0 logs every log.
        init_kwargs: Further arguments of `trackio.init`: `name`, `group`, `space_id`,
            `embed=True` for the dashboard in a notebook, ...
    """

    package, kept, identity = "trackio", "trackio_id.txt", "name"

    def start(self, trainer: Any, token: str) -> Any:
        import trackio as sdk  # pyright: ignore[reportMissingImports]

        settings: dict[str, Any] = {
            "name": f"{trainer.run.folder.name}-{token}",  # it has no other identity
            "config": trainer.config.to_dict(),
            "resume": "allow",
            "embed": False,
            **self.init_kwargs,
        }
        # In a context of its own `init` does not end the run of another trainer.
        context = contextvars.copy_context()
        return context.run(sdk.init, self.project, **settings)

    def log(self, run: Any, metrics: dict[str, float], row: Any) -> None:
        steps = {"learn_step": row["learn_step"]}
        run.log({**metrics, **steps}, step=row["sample_step"])
