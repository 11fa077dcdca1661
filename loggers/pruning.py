"""Pruning: end the trials of a search for hyperparameters that fall behind."""

import importlib
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from yieldrl.loggers.base import Logger, Stream, require_package
from yieldrl.loggers.writer import read


@dataclass(eq=False)
class prune(Logger):  # noqa: N801 (used like a function)
    """Report evaluations to a trial of Optuna, and end the loop if it falls behind.

    The loop then raises `optuna.TrialPruned`, which `study.optimize` expects. What is
    pruned has steps left: the last evaluation is only reported. With several seeds,
    decorate `yieldrl.experiments.SideBySide(trainers)`. ImportError without Optuna.
    """

    steers: ClassVar[bool] = True

    trial: Any
    """The `optuna.Trial`."""

    _: KW_ONLY

    metric: str = "episode_return"
    """Name of the metric in the evaluations' logs."""

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Yield logs until the pruner of the study says that it is enough.

        Trials are compared at the same steps: evaluations count at multiples of
        `config.eval_every`, after which they come, and the last at `total_steps`.
        """
        require_package("optuna", extra="tune")
        optuna, config = importlib.import_module("optuna"), trainer.config
        counted = getattr(trainer, "_evaluated_by", "sample_step")
        reported = None
        for log in logs:
            yield log
            if log["log_type"] != "evaluate" or self.metric not in log["logs"]:
                continue
            step, every = log[counted], config.eval_every or 1
            ended = counted == "sample_step" and step >= config.total_steps
            step = config.total_steps if ended else step - step % every
            value = read({self.metric: log["logs"][self.metric]})[self.metric]
            if step != reported:
                self.trial.report(value, reported := step)
            if not ended and self.trial.should_prune():
                raise optuna.TrialPruned(f"at step {step:,}, with {value:.4g}")
