"""Trains for a while under a watch, and looks at what every step came to."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing
from typing import Any

from yieldrl.experiments.contract.report import expect_metrics, listed
from yieldrl.experiments.contract.watch import Watch


class Drill:
    """Takes steps until the trainer has learned from some rollouts, and acted again.

    Args:
        watch: Looks on; it has been entered.
        max_steps: After how many steps of the trainer to give up.
    """

    def __init__(self, watch: Watch, max_steps: int) -> None:
        self.watch, self.report, self.trainer = watch, watch.report, watch.trainer
        self.max_steps = max_steps
        self._counted = self._counters()

    def run(self, at_first: Callable[[], None] | None = None) -> None:
        """Train.

        Args:
            at_first: Called after the first step.

        Raises:
            ValueError: If the trainer does not learn.
        """
        taken, rounds, kind = 0, 0, ""
        with closing(self.trainer()) as logs:
            for log in itertools.islice(logs, self.max_steps):
                self._judge(log)
                if taken == 0 and at_first is not None:
                    at_first()
                taken += 1
                rounds += log["log_type"] == "train" and kind != "train"
                kind = log["log_type"]
                learned = rounds >= self._rounds and self.watch.counts["learn"] > 1
                if learned and kind != "train":
                    break
        if self.watch.counts["learn"] == 0:
            raise ValueError(
                f"{self.trainer.name} took {taken} steps and did not learn: check a"
                " trainer that has steps left (total_steps) and learns early"
                " (learning_starts, num_steps, num_episodes)"
            )

    @property
    def _rounds(self) -> int:
        """How many rollouts are learned from, until weights that learned have acted."""
        lag = getattr(self.trainer.config, "max_policy_lag", 0)
        return 2 if self.watch.counts["acted"] else 3 + lag  # beside another thread

    def _judge(self, log: Any) -> None:
        kind, ledger = log["log_type"], self.watch.ledger
        by = f"a {kind} step"
        ledger.note(by)
        if kind == "train":
            ledger.version()
        else:
            ledger.unchanged_version(by)
        expect_metrics(self.report, log["logs"], by, finite=False)
        parts = self.trainer.model.named_modules()
        training = [name or "model" for name, part in parts if part.training]
        self.report.expect(
            "learning_in_train_mode",
            not training,
            f"{listed(training)} stayed in train mode after {by}: learn through"
            " agent.learn, which goes back to eval mode",
        )
        before, self._counted = self._counted, self._counters()
        self._judge_counters(log, before, self._counted)
        self.report.expect(
            "learning_steps_no_environment",
            kind != "train" or self._counted["envs"] == before["envs"],
            f"{by} called envs.step() or reset(): collect in _run_collect",
        )

    def _judge_counters(
        self, log: Any, before: dict[str, int], now: dict[str, int]
    ) -> None:
        kind = log["log_type"]
        sampled = self.trainer.envs.num_envs if kind == "collect" else 0
        learned = now["learn"] - before["learn"]
        for name, due in (("sample_step", sampled), ("learn_step", learned)):
            moved = now[name] - before[name]
            self.report.expect(
                "counters",
                moved == due and log[name] == now[name],
                f"{name} went from {before[name]} to {now[name]} in a {kind} step in"
                f" which {due} were taken, and the log says {log[name]}: count every"
                " step once, and log the agent's counters",
            )

    def _counters(self) -> dict[str, int]:
        agent, calls = self.trainer.agent, self.watch.counts
        return {
            "sample_step": agent.sample_step,
            "learn_step": agent.learn_step,
            "learn": calls["learn"],
            "envs": calls["step"] + calls["reset"],
        }
