"""The process beside the training: it compiles, measures, and cannot outlive it."""

import contextlib
import subprocess
import sys
import threading

import cloudpickle
import psutil
import pytest
import torch

from yieldrl.algorithms import ppo
from yieldrl.runtime import CompiledCall
from yieldrl.speed import Plan, pytorch, warm_up
from yieldrl.speed.compiled import Compiled
from yieldrl.speed.warm_up import WarmUp


def priorities_of_compilers():
    found = set()
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # as one is that has ended
            if "yieldrl.speed.warm_up" in child.cmdline():
                found.add(child.nice())
    return found


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
        priorities = set()
        while threads[0].is_alive():
            priorities |= priorities_of_compilers()
            threads[0].join(0.05)
        process.priorities = priorities
        return process

    return start


@pytest.mark.slow
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
    # it takes no core that training needs, and is done although others need all
    assert 10 in process.priorities
    assert max(process.priorities) <= 10
    assert found.keys() == {"scaled", "branching"}
    gain, load = found["scaled"]
    assert isinstance(gain, float)
    assert 0 < load < 300
    assert "branching" in found["branching"]


def test_a_process_that_fails_says_why(ended, monkeypatch):
    monkeypatch.setattr(warm_up.cloudpickle, "dumps", lambda task: b"no pickle")
    assert ended([]).ended.startswith("the compiler failed: ")


def test_a_trainer_s_functions_can_be_handed_over(traced):
    """All that PPO compiles, with the objects that it belongs to."""
    config = ppo.Config(
        env_id="yieldrl/CartPole-v1", num_steps=8, num_minibatches=2, eval_every=0,
        total_steps=10_000,
    )  # fmt: skip
    with ppo.Trainer(config) as trainer:
        for log in trainer():
            if log["learn_step"] == 16:  # of the second rollout
                break
        functions = [f for f in trainer.algorithm.plan.functions if f.example]
        names = {function.name for function in functions}
        assert names == {
            "collecting", "evaluation of rollouts", "gradient step (loss)"
        }  # fmt: skip
        task = [(function, function.example()) for function in functions]
        for function, args in cloudpickle.loads(cloudpickle.dumps(task)):
            assert function.plan.mode == "eager"
            pytorch.with_settings(function.compile().call, *args)


def test_it_ends_when_its_training_does():
    """Killed, too: it looks who its parent is."""
    words = [sys.executable, "-m", "yieldrl.speed.warm_up", "1"]  # not its parent
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        assert process.wait(120) == 1


def test_what_a_call_takes_is_measured_between_other_work():
    touched = []
    assert warm_up.seconds_of(touched.append, ("given",)) > 0
    assert 20 <= len(touched) <= 301
    assert set(touched) == {"given"}


def test_a_call_is_measured_with_its_drawing_of_random_numbers():
    plan = Plan("compile", 0, lambda: 0)
    call = CompiledCall(
        "noise", lambda x, g: {"y": torch.empty(2).normal_(generator=g)}, plan
    )
    generator = torch.Generator().manual_seed(0)
    call({}, generator)
    before = generator.get_state()
    call.compiled.coded({}, generator, [], [])
    assert not torch.equal(before, generator.get_state())
