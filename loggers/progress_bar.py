"""A progress bar with steps, rates, remaining time and returns."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from yieldrl.loggers.answers import latest_answer
from yieldrl.loggers.base import Logger, Stream, in_notebook
from yieldrl.loggers.writer import read

_SHOWN = {
    ("collect", "expert_return"): "expert_return",
    ("train", "cloned"): "cloned",
    ("collect", "episode_return"): "episode_return",
    ("train", "grpo/informative_groups"): "informative_groups",
    ("evaluate", "episode_return"): "evaluation",
    ("evaluate", "success_rate"): "success_rate",
    ("collect", "workers"): "workers",
    ("collect", "policy_lag"): "policy_lag",
}
_ANSWER_SECONDS = 10.0


@dataclass(eq=False)
class progress(Logger):  # noqa: N801 (used like a function)
    """Show a progress bar, in a terminal or a notebook.

    It counts environment steps up to `config.total_steps`, and gradient steps, each
    with its rate. It shows the returns of the last episodes and the last evaluation,
    with the share of successes if the environment tells them; while demonstrations are
    cloned which share of that is done; of GRPO the share of groups that differ; and on
    Ray the number of workers and the age of their policies. It is drawn ten times a
    second, or every ten seconds if the output is a file. If actions are text, an answer
    of the policy is shown above it every ten seconds.
    """

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Draw the bar between logs."""
        from tqdm.auto import tqdm

        agent, total = trainer.agent, trainer.config.total_steps
        bar = tqdm(
            desc=trainer.run.name,
            total=total,
            initial=min(agent.sample_step, total),
            unit=" steps",
            unit_scale=True,
            mininterval=0,
            miniters=1,
            dynamic_ncols=True,
        )
        values: dict[str, Any] = {}  # the latest ones, read when drawn
        learned, began = agent.learn_step, perf_counter()

        def short(number: float) -> str:
            """Three digits and k, M or G, as in the bar."""
            return bar.format_sizeof(number) if number >= 1000 else f"{number:.3g}"

        def draw() -> None:
            shown = {}
            if agent.learn_step:
                seconds = max(perf_counter() - began, 1e-9)
                rate = (agent.learn_step - learned) / seconds
                shown["learn_step"] = f"{short(agent.learn_step)} ({short(rate)}/s)"
            shown |= {name: f"{x:.4g}" for name, x in read(values).items()}
            bar.set_postfix(shown, refresh=False)
            # Without new steps `update` draws nothing, but returns may have changed.
            if not bar.update(min(agent.sample_step, total) - bar.n):
                bar.refresh()

        period = 0.1 if in_notebook() or sys.stderr.isatty() else 10.0
        due, answer_due = began + period, began + period
        try:
            for log in logs:
                _note(values, log["log_type"], log["logs"])
                if (now := perf_counter()) >= due:
                    draw()
                    due = perf_counter() + period
                    if now >= answer_due and (answer := latest_answer(trainer)):
                        bar.write(str(answer), file=sys.stderr)
                        answer_due = now + _ANSWER_SECONDS
                yield log
        finally:
            draw()
            bar.close()


def _note(values: dict[str, Any], kind: str, logs: Mapping[str, Any]) -> None:
    """Put what a log says into what is shown, and leave out what is over."""
    if kind == "train" and "cloned" not in logs:
        for label in ("expert_return", "cloned"):
            values.pop(label, None)
    for (of_kind, name), label in _SHOWN.items():
        if kind == of_kind and name in logs:
            values[label] = logs[name]
