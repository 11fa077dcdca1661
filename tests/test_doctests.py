"""Every example in a docstring is run."""

import doctest
import importlib
from pathlib import Path

import pytest

import yieldrl

ROOT = Path(yieldrl.__file__).parent
OTHERS = {"tests", "benchmarks", "docs", "notebooks", "build", "site"}


def rooms():
    """Room -> its modules with an example, which begins with `>>>`."""
    found = {}
    for file in sorted(file.relative_to(ROOT) for file in ROOT.rglob("*.py")):
        room = file.parts[0]
        if room in OTHERS or room[0] == ".":
            continue
        if ">>> " in (ROOT / file).read_text("utf-8"):
            name = ".".join(["yieldrl", *file.with_suffix("").parts])
            found.setdefault(room, []).append(name)
    return found


ROOMS = rooms()


@pytest.mark.parametrize("room", ROOMS)
def test_examples(room):
    for name in ROOMS[room]:
        result = doctest.testmod(importlib.import_module(name))
        assert result.attempted > 0, name
        assert result.failed == 0, name
