"""The process that compiles does not outlive the training that asked for it."""

import os
import subprocess
import sys
import time

import psutil
import pytest

STARTS = """
import subprocess, sys
silent = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE)
words = [sys.executable, "-m", "yieldrl.speed.compiling", "1"]
compiler = subprocess.Popen(words, stdin=silent.stdout)
print(silent.pid, compiler.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def training():
    """A process that has started a compiler, which waits for its graph."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", STARTS], **pipes) as process:
        yield process


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="processes have no sleep, nor new parents")
def test_a_compiler_ends_with_a_training_that_is_killed(training):
    pids = map(int, training.stdout.readline().split())
    silent, compiler = map(psutil.Process, pids)
    try:
        time.sleep(5)  # it waits for a graph now
        assert compiler.is_running()
        training.kill()
        training.wait()
        compiler.wait(timeout=10)
        assert silent.is_running(), "so nobody closed what the compiler reads from"
    finally:
        silent.kill()
