"""What the tests cost: the slowest are printed, and a suite that costs too much fails.

Processor time is counted, not the clock's, because that does not grow while others use
the same machine. It is given in seconds of the machine on which the budgets were set:
each process times a yardstick now and then, so that a slower machine has the same
budget, and one that others slow down for a while too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest
import torch

BUDGETS = {"": 1600.0, "not slow": 800.0}
"""Expression of `-m` -> what such a run may cost. All of them took 1 430 in nine
minutes on two quiet cores, and ten minutes are the most that they may take."""

YARDSTICK = 0.02
"""Processor seconds that the yardstick takes on the machine of the budgets."""

EVERY = 10.0
"""Processor seconds of tests between two looks at the yardstick."""


def yardstick() -> float:
    """Processor seconds of a fixed piece of work such as tests do: small tensors."""

    def once() -> float:
        began, values = time.process_time(), torch.ones(32, 32)
        for _ in range(5_000):
            values = (values @ values).tanh()
        return time.process_time() - began

    return min(once() for _ in range(5))


def cpu_seconds() -> float:
    """Processor time of this process and of those that it started and waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


class Budget:
    """Adds up what the tests cost, over all workers of pytest-xdist.

    Args:
        limit: What the run may cost; None for a part of the suite, which may cost
            what it does and prints nothing.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.costs: dict[str, float] = {}
        self._began = self._slowness = self._due = 0.0

    @classmethod
    def of_run(cls, config: pytest.Config) -> Budget:
        """That of the whole suite, unless tests or files are chosen by name."""
        chosen = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
        if chosen or config.option.keyword:
            return cls(None)
        return cls(BUDGETS.get(config.option.markexpr))

    @property
    def spent(self) -> float:
        return sum(self.costs.values())

    @property
    def is_exceeded(self) -> bool:
        return self.limit is not None and self.spent > self.limit

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        if cpu_seconds() >= self._due:
            self._slowness = yardstick() / YARDSTICK
            self._due = cpu_seconds() + EVERY
        self._began = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the cost to the last report of a test, which workers send on."""
        report = yield
        if call.when == "teardown":
            cost = (cpu_seconds() - self._began) / self._slowness
            report.user_properties.append(("cpu_seconds", cost))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "cpu_seconds":
                self.costs[report.nodeid] = float(str(value))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and self.is_exceeded:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter):
        if self.limit is not None:
            terminalreporter.section("the ten slowest tests, in processor seconds")
            for line in self.summary():
                terminalreporter.write_line(line, red=self.is_exceeded)

    def summary(self) -> list[str]:
        """The ten slowest, the sum, and what to do if it is too much."""
        slowest = sorted(self.costs.items(), key=lambda item: -item[1])[:10]
        lines = [f"{seconds:7.1f} {name}" for name, seconds in slowest]
        lines.append(f"{self.spent:7.1f} all tests; the budget is {self.limit:.1f}")
        if self.is_exceeded:
            lines.append("Too slow: shorten tests, or move evidence to benchmarks/.")
        return lines
