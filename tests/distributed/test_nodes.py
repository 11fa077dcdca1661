"""A machine of the cluster dies, and takes with it what nobody has fetched yet."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("learners", ["0", "1"])
def test_segments_that_are_lost_with_a_node_are_counted_and_collected_again(learners):
    """Finished ones too: they were in its memory, or their observations were."""
    pytest.importorskip("ray", reason="this test needs Ray")
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("node_that_dies.py"), learners],
        env={**os.environ, "RAY_AUTH_MODE": "disabled"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lives, lost = done.stdout.split()[-2:]
    assert lives == "[1]"
    assert 1 <= int(lost) <= 3
