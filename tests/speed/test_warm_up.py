"""The process beside the training: it compiles, measures, and cannot outlive it."""

import subprocess
import sys
import threading

import pytest
import torch

from yieldrl.speed import Plan, warm_up
from yieldrl.speed.compiled import Compiled
from yieldrl.speed.warm_up import WarmUp

pytestmark = pytest.mark.slow  # each starts a process that loads PyTorch


@pytest.fixture
def ended(monkeypatch):
    """Starts a process and waits for it, as a test may and a training must not."""

    def start(functions):
        threads = []
        usual = threading.Thread

        def noted(*args, **kwargs):
            threads.append(usual(*args, **kwargs))
            return threads[-1]

        with monkeypatch.context() as patch:
            patch.setattr(warm_up.threading, "Thread", noted)
            process = WarmUp(functions)
        threads[0].join()
        return process

    return start


def test_it_compiles_what_somebody_wrote_and_measures_it(ended):
    class Mine:
        weight = 3.0

        def scaled(self, x):
            return (self.weight * x).tanh()

        def branching(self, x):
            return x if x.sum() > 0 else -x

    plan = Plan("auto", 10_000, lambda: 0)
    functions = [
        Compiled(name, getattr(Mine(), name), plan) for name in ("scaled", "branching")
    ]
    for function in functions:
        function.example = lambda: (torch.ones(4),)
    process = ended(functions)
    found = process.found
    assert process.ended == ""
    assert found.keys() == {"scaled", "branching"}
    gain, load = found["scaled"]
    assert isinstance(gain, float)
    assert load > 0
    assert "branching" in found["branching"]


def test_a_process_that_fails_says_why(ended, monkeypatch):
    monkeypatch.setattr(warm_up.cloudpickle, "dumps", lambda task: b"no pickle")
    assert ended([]).ended.startswith("the compiler failed: ")


def test_it_ends_when_its_training_does():
    """Killed, too: it looks who its parent is."""
    words = [sys.executable, "-m", "yieldrl.speed.warm_up", "1"]  # not its parent
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        assert process.wait(120) == 1
