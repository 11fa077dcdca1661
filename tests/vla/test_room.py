"""The room as a whole: what importing it costs, and what it offers."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"accelerate", "peft", "safetensors", "transformers"}
HEAVY |= {"robosuite", "libero", "mujoco", "OpenGL"}


def test_importing_it_imports_no_library_of_models_and_no_simulator() -> None:
    program = "import sys, yieldrl.vla, yieldrl.envs.libero; print(*sys.modules)"
    run = [sys.executable, "-c", program]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "yieldrl.vla.policy" in loaded.split()
    assert not HEAVY & set(loaded.split())
