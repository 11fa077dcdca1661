"""A suite that costs too much fails, and says which tests do."""

import itertools
import subprocess
import sys
import time

import budget
import conftest
import pytest
from budget import Budget

CONFTEST = """
from budget import Budget

def pytest_configure(config):
    config.pluginmanager.register(Budget({limit}))
"""
TESTS = """
import time, pytest

def spend(seconds):
    began = time.process_time()
    while time.process_time() < began + seconds:
        pass

@pytest.fixture
def slow_to_set_up():
    spend(0.05)

def test_of_nothing(): pass
def test_with_a_fixture(slow_to_set_up): pass
def test_that_sleeps(): time.sleep(0.3)
def test_that_works(): spend(0.1)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs four tests of 0.15 seconds under a limit."""
    monkeypatch.setattr(budget, "yardstick", lambda: budget.YARDSTICK)

    def run(limit):
        pytester.makeconftest(CONFTEST.format(limit=limit))
        pytester.makepyfile(TESTS)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider")

    return run


def test_too_slow_a_suite_fails_though_its_tests_pass(run):
    result = run(0.1)
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*ten slowest tests*",
            "*::test_that_works",
            "*::test_with_a_fixture",  # what it needs is counted, sleep is not
            "*all tests; the budget is 0.1",
            "Too slow: *",
        ]
    )


def test_a_suite_within_its_budget_passes(run):
    result = run(10.0)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*::test_that_works", "*the budget is 10.0"])
    result.stdout.no_fnmatch_line("Too slow*")


def test_a_part_of_the_suite_has_no_budget(run):
    result = run(None)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*slowest*")


def test_a_machine_of_a_quarter_of_the_speed_has_the_same_budget(run, monkeypatch):
    monkeypatch.setattr(budget, "yardstick", lambda: 4 * budget.YARDSTICK)
    assert run(0.1).ret == pytest.ExitCode.OK


def test_a_machine_that_becomes_slow_has_the_same_budget(run, monkeypatch):
    looks = itertools.chain([1, 1], itertools.repeat(40))  # the last two tests cost
    monkeypatch.setattr(budget, "yardstick", lambda: next(looks) * budget.YARDSTICK)
    monkeypatch.setattr(budget, "EVERY", 0.0)
    assert run(0.1).ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ([], budget.BUDGETS[""]),
        (["-m", "not slow"], budget.BUDGETS["not slow"]),
        (["-m", "slow"], None),
        (["-k", "ppo"], None),
        (["tests/test_budget.py"], None),
    ],
)
def test_only_the_whole_suite_has_one(pytestconfig, pytester, words, limit):
    pytester.makeini("[pytest]\ntestpaths = tests")
    pytester.mkdir("tests")
    config = pytester.parseconfig(*words)
    assert Budget.of_run(config).limit == limit


def test_processes_that_a_test_starts_are_counted():
    before = budget.cpu_seconds()
    code = "import time\nwhile time.process_time() < 0.1: pass"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)
    assert budget.cpu_seconds() - before > 0.09


def test_the_yardstick_is_short():
    began = time.process_time()
    assert budget.yardstick() > 0
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("free", "cores", "workers"), [(64, 2, 2), (8, 16, 2), (1, 2, 1)]
)
def test_a_worker_for_each_core_if_memory_allows(monkeypatch, free, cores, workers):
    monkeypatch.setattr(conftest.os, "sched_getaffinity", lambda _: range(cores))
    memory = type("Memory", (), {"available": free * 2**30})
    monkeypatch.setattr(conftest.psutil, "virtual_memory", lambda: memory)
    assert conftest.pytest_xdist_auto_num_workers() == workers
