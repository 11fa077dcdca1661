"""The room as a whole: what importing it costs, and what it offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from yieldrl import vla

HEAVY = {"accelerate", "peft", "safetensors", "transformers"}


def test_importing_it_imports_no_library_of_models() -> None:
    program = "import sys, yieldrl.vla; print(*sys.modules)"
    run = [sys.executable, "-c", program]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "yieldrl.vla.policy" in loaded.split()
    assert not HEAVY & set(loaded.split())


def test_a_name_that_it_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'load_model'"):
        _ = vla.load_model


def test_what_is_imported_on_use_is_exported() -> None:
    assert set(vla._ON_USE) < set(vla.__all__)
