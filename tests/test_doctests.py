"""Every example in a docstring is run."""

import doctest
import importlib
import pkgutil

import pytest

import yieldrl


def modules():
    names = [m.name for m in pkgutil.walk_packages(yieldrl.__path__, "yieldrl.")]
    own = [n for n in names if n.split(".")[1] not in {"benchmarks", "tests"}]
    return ["yieldrl", *(n for n in own if not n.endswith("__main__"))]


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
