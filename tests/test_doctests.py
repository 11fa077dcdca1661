"""Every example in a docstring is run."""

import doctest
import importlib
from pathlib import Path

import pytest

import yieldrl

ROOT = Path(yieldrl.__file__).parent
OTHERS = {"tests", "benchmarks", "docs", "notebooks", "build", "site"}


def modules():
    """Modules of the package with an example, which begins with `>>>`."""
    files = [file.relative_to(ROOT) for file in sorted(ROOT.rglob("*.py"))]
    own = [f for f in files if f.parts[0] not in OTHERS and f.parts[0][0] != "."]
    shown = [f for f in own if ">>> " in (ROOT / f).read_text("utf-8")]
    return [".".join(["yieldrl", *f.with_suffix("").parts]) for f in shown]


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
