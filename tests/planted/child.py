"""A process that runs tests in a copy of the repository.

It is forked from one that has imported what is large, and imports nothing of yieldrl
before the copy has its place in the path.
"""

import os
import sys
from pathlib import Path

import pytest


def run_tests(copy: Path, tests: list[str], said: Path) -> None:
    """Run tests in a copy; what pytest says goes into the file `said`."""
    os.chdir(copy)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["PYTHONPATH"] = str(copy.parent)  # of processes that tests start
    sys.path[:] = [str(copy.parent), *sys.path[1:]]  # not the repository itself
    sys.dont_write_bytecode = True
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    words = ["-q", "--maxfail=3", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    code = pytest.main([*words, *tests])
    sys.stdout.flush()
    os._exit(code)
