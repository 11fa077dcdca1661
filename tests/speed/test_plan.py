"""When functions are compiled: by the work ahead, and by what an earlier run found."""

import copy
import pickle
import time

import pytest
import torch

from yieldrl.foundations import compile_cache
from yieldrl.speed import Plan, plan, warm_up
from yieldrl.speed.compiled import Compiled

MANY = 20_000


class Clock:
    """Every gradient step takes so many seconds."""

    def __init__(self, seconds):
        self.seconds, self.steps = seconds, 0

    def monotonic(self):
        return self.steps * self.seconds


class Process:
    """Stands for the process beside the training, which has no answer at first."""

    ended = None

    def __init__(self, functions):
        self.functions, self.found = functions, {}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """A machine with a compiler, where nothing was compiled."""
    monkeypatch.setattr(plan, "COMPILED_SECONDS", 20.0)
    monkeypatch.setattr(plan, "WAITING_SECONDS", 60.0)
    monkeypatch.setattr(compile_cache, "missing_compiler", lambda: None)
    monkeypatch.setattr(compile_cache, "write_note", lambda kind, note: None)
    monkeypatch.setattr(warm_up, "WarmUp", Process)


@pytest.fixture
def run(monkeypatch):
    """Makes a plan and its function, called once a gradient step until it is due."""

    def made(mode="auto", steps=MANY, seconds=0.01, calls=1_000, **options):
        clock = Clock(seconds)
        monkeypatch.setattr(time, "monotonic", clock.monotonic)
        of = Plan(mode, steps, lambda: clock.steps, **options)
        function = Compiled("doubling", lambda x: 2 * x, of)

        def go_on(calls=calls):
            for _ in range(calls):
                if function.is_due(lambda: (torch.ones(2),)):
                    return True
                clock.steps += 1
            return False

        function.go_on, function.clock = go_on, clock
        return of, function

    return made


def test_eager_never_compiles_and_compile_does_at_once(run):
    of, function = run("eager")
    assert not function.go_on()
    assert not of.compiles
    _, function = run("compile", steps=1)
    assert function.go_on(calls=1)


def test_a_short_run_is_eager(run, monkeypatch):
    _, function = run(steps=plan.MIN_STEPS - 1)
    assert not function.go_on()
    of, function = run(seconds=0.0005)
    assert not function.go_on(calls=6_000)
    assert not of.compiles
    monkeypatch.setattr(compile_cache, "missing_compiler", lambda: "there is none")
    of, function = run()
    assert not function.go_on()
    assert of.decisions == ["not compiled: there is none"]


@pytest.mark.parametrize("found", [[0.00001, 1.0], "Data-dependent branching"])
def test_what_gains_too_little_or_cannot_be_compiled_stays_eager(run, found):
    of, function = run()
    function.go_on(calls=201)
    of._warm_up.found["doubling"] = found
    assert not function.go_on()
    assert function.rejected


def test_a_long_run_is_compiled_when_the_process_beside_it_has_done_so(run):
    of, function = run()
    assert not function.go_on(calls=201)
    beside = of._warm_up
    assert beside.functions == [function]
    assert of.decisions == ["doubling: eager, while another process compiles"]
    assert not function.go_on(calls=100)
    beside.found["doubling"] = [0.005, 1.0]
    assert function.go_on(calls=1)
    assert of._warm_up is beside  # which goes on with others
    beside.ended = ""
    other = Compiled("halving", lambda x: x / 2, of)
    assert other.is_due(lambda: (torch.ones(2),))
    assert of._warm_up is None


def test_a_process_that_fails_leaves_the_run_eager(run):
    of, function = run()
    function.go_on(calls=201)
    of._warm_up.ended = "the compiler failed: No space left on device"
    assert not function.go_on()
    assert not of.compiles


def test_what_cannot_be_handed_over_is_compiled_here(run, monkeypatch):
    def refuse(functions):
        raise TypeError("cannot pickle '_thread.lock' object")

    monkeypatch.setattr(warm_up, "WarmUp", refuse)
    of, function = run()
    assert function.go_on()
    assert "compiled here, as no other process can: cannot pickle" in of.decisions[-1]


@pytest.mark.parametrize("options", [{"gpu": True}, {"single_process": False}])
def test_where_no_process_can_help_longer_runs_are_compiled_here(run, options):
    _, function = run(seconds=0.01, **options)
    assert function.go_on()
    _, function = run(seconds=0.002, **options)
    assert not function.go_on(calls=5_000)


def test_a_later_run_knows_from_the_first_step_on(run, monkeypatch):
    note = {"doubling": [0.005, 1.0]}
    monkeypatch.setattr(compile_cache, "read_note", lambda kind: note)
    _, function = run()
    assert function.go_on(calls=2)
    _, function = run(steps=plan.MIN_STEPS)
    assert not function.go_on()  # it would gain 1.25 s and take 1.5


def test_a_part_waits_for_the_whole(run):
    of, function = run("compile")
    whole = Compiled("whole", lambda x: x, of)
    function.fused_into = whole
    assert not function.go_on()
    whole.reject("its rows have no place")
    assert function.go_on()


def test_copies_take_eager_steps(run):
    of, function = run("compile")
    assert copy.deepcopy(function).plan.mode == "eager"
    assert pickle.loads(pickle.dumps(of)).mode == "eager"
    assert of.mode == "compile"
