"""A progress bar with steps, rates, remaining time and returns."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from yieldrl.loggers.answers import latest_answer
from yieldrl.loggers.base import Logger, Stream, in_notebook
from yieldrl.loggers.windowed_means import read

if TYPE_CHECKING:
    from yieldrl.core.logs import LogData

_SHOWN = {"collect": "episode_return", "evaluate": "evaluation"}
_ON_RAY = "workers", "policy_lag"


@dataclass(eq=False)
class progress(Logger):  # noqa: N801 (used like a function)
    """Show a progress bar, in a terminal or a notebook.

    It counts environment steps up to `config.total_steps`, and gradient steps, each
    with its rate. It shows the returns of the last episodes and the last evaluation,
    and on Ray the number of workers and the age of their policies. It is drawn ten
    times a second, or every ten seconds if the output is a file. If actions are text,
    an answer of the policy is shown above it every ten seconds.
    """

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Draw the bar between logs."""
        period = 0.1 if in_notebook() or sys.stderr.isatty() else 10.0
        bar, drawn = _Bar(trainer), 0
        due = perf_counter() + period
        try:
            for log in logs:
                bar.look(log)
                if perf_counter() >= due:
                    bar.draw()
                    if drawn % round(10.0 / period) == 0:
                        bar.show(latest_answer(trainer))
                    drawn += 1
                    due = perf_counter() + period
                yield log
        finally:
            bar.draw()
            bar.tqdm.close()


class _Bar:
    def __init__(self, trainer: Any) -> None:
        from tqdm.auto import tqdm

        self.agent, self.total = trainer.agent, trainer.config.total_steps
        self.values: dict[str, Any] = {}  # the latest ones, read when drawn
        self.learned, self.began = trainer.agent.learn_step, perf_counter()
        self.tqdm = tqdm(
            desc=trainer.run.name,
            total=self.total,
            initial=min(trainer.agent.sample_step, self.total),
            unit=" steps",
            unit_scale=True,
            mininterval=0,
            miniters=1,
            dynamic_ncols=True,
        )

    def look(self, log: LogData) -> None:
        logs = log["logs"]
        if "episode_return" in logs and log["log_type"] in _SHOWN:
            self.values[_SHOWN[log["log_type"]]] = logs["episode_return"]
        if _ON_RAY[0] in logs:
            self.values |= {name: logs[name] for name in _ON_RAY if name in logs}

    def draw(self) -> None:
        shown, learned = {}, self.agent.learn_step
        if learned:
            seconds = perf_counter() - self.began
            rate = (learned - self.learned) / seconds if seconds > 0 else 0.0
            shown["learn_step"] = f"{self._short(learned)} ({self._short(rate)}/s)"
        shown |= {name: f"{x:.4g}" for name, x in read(self.values).items()}
        self.tqdm.set_postfix(shown, refresh=False)
        # Without new steps `update` draws nothing, but returns may have changed.
        steps = min(self.agent.sample_step, self.total)
        if not self.tqdm.update(steps - self.tqdm.n):
            self.tqdm.refresh()

    def show(self, line: Any) -> None:
        """Print a line above the bar, if there is one."""
        if line is not None:
            self.tqdm.write(str(line), file=sys.stderr)

    def _short(self, number: float) -> str:
        """Format with three digits and k, M or G, as in the bar."""
        return self.tqdm.format_sizeof(number) if number >= 1000 else f"{number:.3g}"
