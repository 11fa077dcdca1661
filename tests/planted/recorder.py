"""A plugin of pytest, `-p recorder`: which tests execute which line of the package.

Each process keeps what it sees in memory, as a test may fork it, and writes one file of
coverage.py at its end, into the folder that `YIELDRL_MAP` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ("benchmarks", "docs", "notebooks", "tests", ".*", "build", "site")


class Recorder:
    """Measures from the first import on, and says with each line which test it is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.process = folder, os.getpid()
        self.measured = coverage.Coverage(
            data_file=None,
            branch=True,
            source=[str(ROOT)],
            omit=[f"{ROOT}/{name}/*" for name in OTHERS],
        )
        self.measured.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[Any]:
        self.measured.switch_context(item.nodeid)
        result = yield
        self.measured.switch_context("")
        return result

    def pytest_sessionfinish(self) -> None:
        if os.getpid() != self.process:  # a copy of the process that a test has made
            return
        self.measured.stop()
        written = coverage.CoverageData(str(self.folder / f".coverage.{self.process}"))
        written.update(self.measured.get_data())
        written.close()


def pytest_configure(config: Any) -> None:
    """Measure where tests run: in the workers, or in the only process."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(Path(os.environ["YIELDRL_MAP"])))
