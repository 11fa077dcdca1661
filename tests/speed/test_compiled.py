"""A compiled function says what it does, and gives up in one line."""

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
    assert len(decisions) == 3
    assert "compiled again" in decisions[2]
    assert "weight == 1.0 no longer holds (" in decisions[2]


def test_a_number_that_keeps_changing_is_compiled_for_once(traced):
    parts = SimpleNamespace(step=0)
    adding, _ = made(lambda x: x * parts.step)
    for step in range(20):
        parts.step = step
        assert adding(torch.ones(1)).item() == step
    assert len(traced) <= 4
    assert not adding.rejected


@pytest.mark.slow
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
    with ThreadPoolExecutor(2) as threads:  # one collects while another learns
        both = Barrier(2, timeout=60)
        calls = [threads.submit(pytorch.with_settings, both.wait) for _ in range(2)]
        assert sorted(call.result() for call in calls) == [0, 1]
