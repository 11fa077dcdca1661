"""A compiled function says what it does, and gives up in one line."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import pytest
import torch

from yieldrl.speed import Plan, pytorch
from yieldrl.speed.compiled import (
    MAX_RECOMPILES,
    Compiled,
    NotCompiledError,
    in_plain_words,
)


def made(function, mode="compile", *, strict=True):
    of = Plan(mode, 1, lambda: 0)
    of.strict = strict
    return Compiled("adding", function, of), of.decisions


def test_a_recompilation_is_logged_with_its_reason(traced):
    parts = SimpleNamespace(weight=1.0)
    adding, decisions = made(lambda x: x + parts.weight)
    assert adding(torch.ones(2)).tolist() == [2.0, 2.0]
    parts.weight = 3.0
    assert adding(torch.ones(2)).tolist() == [4.0, 4.0]
    assert decisions[0].startswith("adding: training waits while it is compiled; ")
    assert decisions[1].startswith("adding: compiled in ")
    assert decisions[2].startswith("adding: compiled again in ")
    assert "weight == 1.0 no longer holds (" in decisions[2]
    assert len(decisions) == 3


def test_a_number_that_keeps_changing_is_compiled_for_once(traced):
    parts = SimpleNamespace(step=0)
    adding, _ = made(lambda x: x * parts.step)
    for step in range(20):
        parts.step = step
        assert adding(torch.ones(1)).item() == step
    assert len(traced) <= 4
    assert not adding.rejected


def test_many_recompilations_turn_it_eager(traced):
    parts = SimpleNamespace(word="")
    adding, decisions = made(lambda x: x + len(parts.word), strict=False)
    for number in range(MAX_RECOMPILES + 1):
        parts.word = "x" * number
        assert adding(torch.zeros(1)).item() == number
    assert adding.rejected
    assert decisions[-1].startswith("adding: eager: compiled again 8 times")
    assert not adding.is_due(lambda: ())


def test_what_cannot_be_compiled_does_nothing_and_says_so(traced):
    seen = []

    def branching(x):
        seen.append(1)
        return x + 1 if x.sum() > 0 else x - 1

    adding, _ = made(branching, strict=False)
    with pytest.raises(NotCompiledError, match=r"[Dd]ata-dependent.*branching"):
        adding(torch.ones(1))
    assert seen == []


def test_asked_for_compiled_code_it_is_an_error_with_the_remedy(traced):
    adding, _ = made(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(RuntimeError, match=r"adding cannot be compiled: .*='eager'"):
        adding(torch.ones(1))


def test_an_error_of_the_function_is_left_to_it(traced):
    def wrong(x):
        raise ValueError("the batch is empty")

    adding, _ = made(wrong, strict=False)
    with pytest.raises(NotCompiledError, match=r"batch is empty|Observed exception"):
        adding(torch.ones(1))


def test_within_a_mode_that_looks_on_nothing_is_compiled(traced):
    from torch.utils.flop_counter import FlopCounterMode

    adding, _ = made(lambda x: x @ x)
    with FlopCounterMode(display=False):
        assert not adding.is_due(lambda: ())
    assert adding.is_due(lambda: ())


def test_reasons_are_said_in_plain_words():
    guard = "0/0: L['self'].phase == 'a'  # if self.phase  # my.py:3 in loss"
    assert in_plain_words(guard) == "self.phase == 'a' no longer holds (if self.phase)"
    shape = "tensor 'x' size mismatch at index 0. expected 4, actual 3"
    assert in_plain_words(f"- 0/0: {shape}") == shape
    assert in_plain_words("") == "a guard no longer holds"
    assert pytorch.said_by(ValueError()) == "ValueError"


def test_settings_of_the_compiler_hold_within_a_call_alone():
    from torch._dynamo import config

    def look() -> dict[str, object]:
        return {name: getattr(config, name) for name in pytorch.SETTINGS}

    before = look()
    assert before != pytorch.SETTINGS
    for _ in range(2):
        assert pytorch.with_settings(look) == pytorch.SETTINGS
        assert look() == before
    with pytest.raises(ZeroDivisionError):
        pytorch.with_settings(lambda: 1 / 0)
    assert look() == before


def test_settings_hold_in_two_threads_at_once():
    """As where one collects while another learns."""
    with ThreadPoolExecutor(2) as threads:
        both = Barrier(2, timeout=60)
        calls = [threads.submit(pytorch.with_settings, both.wait) for _ in range(2)]
        assert sorted(call.result() for call in calls) == [0, 1]


SAME = """
import sys, torch, torch.optim, torch.compiler

def look():
    classes = [x for x in vars(torch.optim).values() if isinstance(x, type)]
    return {
        "meta_path": list(sys.meta_path),
        "optim": {c: dict(vars(c)) for c in classes},
        "compiler": {k: v for k, v in vars(torch.compiler).items()},
        "torch": {k: v for k, v in vars(torch).items() if k not in LOADED},
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
    }

import tensordict, gymnasium, numpy  # what others load, they load here as well
LOADED = {"__warningregistry__"}
before = look()
import yieldrl
import yieldrl.abstractions
from yieldrl.algorithms import ppo
after = look()
for part in before:
    gone = {k for k in before[part] if k not in after[part]} if isinstance(
        before[part], dict) else set()
    assert not gone, (part, gone)
    if isinstance(before[part], dict):
        for name, value in before[part].items():
            same = after[part][name] is value or after[part][name] == value
            assert same, (part, name)
    else:
        assert before[part] == after[part], part
print("same")
"""


def test_an_import_changes_nothing_outside():
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", SAME], capture_output=True, text=True, env=environ
    )
    assert answer.stdout.strip() == "same", answer.stderr
