"""Another device has a process of its own: PyTorch knows one backend from then on."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)]
)
def test_what_runs_on_another_device(which):
    words = ["-p", "simulated.device", "-p", "no:cacheprovider", "-q", "simulated"]
    command = [sys.executable, "-m", "pytest", *words, "-m", which]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
