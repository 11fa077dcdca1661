"""What a check says of an answer, whatever that answer does."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from yieldrl.exercises import Wrong, expect_close
from yieldrl.exercises.checking import properties, report, statement, verdict

WANT = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def message(got, want=WANT, **options):
    with pytest.raises(Wrong) as wrong:
        expect_close(got, want, named="value", **options)
    return wrong.value.message


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (None, "value is None"),
        ([1.0], "value is a list, expected a Tensor"),
        (WANT.numpy(), "value is an ndarray, expected a Tensor"),
        (WANT[0], "value has the shape [2], expected [2, 2]"),
        (WANT.int(), "value is torch.int32, expected torch.float32"),
        (WANT + torch.tensor([0.0, 1.0]), "value[0, 1] is 3, expected 2 (2 of 4 are"),
        (WANT * float("nan"), "value[0, 0] is nan, expected 1 (4 of 4 are wrong)"),
    ],
)
def test_what_is_wrong_is_said(got, said):
    assert message(got).startswith(said)


@pytest.mark.parametrize("got", [2, 2.0, np.float32(2), torch.tensor([2.0]), True + 1])
def test_a_number_is_a_number(got):
    expect_close(got, 2.0, named="value")


@pytest.mark.parametrize("got", ["2", [2.0], WANT, SimpleNamespace()])
def test_what_is_no_number(got):
    assert "expected a number" in message(got, 2.0)


def test_floating_point_numbers_may_have_another_precision():
    expect_close(WANT.double(), WANT, named="value")
    expect_close(WANT.numpy(), WANT.double().numpy(), named="value")


def test_a_number_that_is_wrong_has_no_index():
    assert message(2.5, 2.0) == "value is 2.5, expected 2"


def test_values_that_are_not_finite_are_compared():
    expect_close(WANT / 0, WANT / 0, named="value")


def test_a_known_mistake_is_the_hint():
    mistakes = {"twice": 2 * WANT, "thrice": 3 * WANT}
    for factor, hint in ((2, "twice"), (3, "thrice"), (4, "look again")):
        with pytest.raises(Wrong) as wrong:
            expect_close(
                factor * WANT, WANT, named="v", hint="look again", mistakes=mistakes
            )
        assert wrong.value.hint == hint


def test_a_mistake_that_changes_nothing_is_the_check_s_own():
    with pytest.raises(ValueError, match="also that of the mistake 'none'"):
        expect_close(WANT, WANT, named="v", mistakes={"none": WANT.clone()})


def asks_for_one(answer):
    """One is one.

    More about it.
    """
    expect_close(answer.one(), 1.0, named="one", hint="count again")


def raises(error):
    def one():
        raise error

    return SimpleNamespace(one=one, __answers__=(__file__,))


@pytest.mark.parametrize(
    "error", [ValueError("no\nidea"), SystemExit("bye"), RecursionError(), OSError(5)]
)
def test_errors_of_an_answer_are_verdicts_with_their_line(error):
    wrong = verdict(asks_for_one, raises(error))
    assert wrong is not None
    assert wrong.message.startswith(f"it raised {type(error).__name__}")
    assert not wrong.message.endswith(":")
    assert "\n" not in wrong.message
    assert wrong.hint.endswith(": raise error")


def test_an_interrupt_goes_on():
    with pytest.raises(KeyboardInterrupt):
        verdict(asks_for_one, raises(KeyboardInterrupt()))


def test_a_gap_and_a_missing_name():
    gap = verdict(asks_for_one, raises(NotImplementedError("start here")))
    assert gap is not None
    assert (gap.message, gap.hint) == ("the gap is still open", "start here")
    missing = verdict(asks_for_one, SimpleNamespace())
    assert missing is not None
    assert missing.message == "there is no `one` in it"
    within = verdict(asks_for_one, raises(AttributeError("no attribute 'two'")))
    assert within is not None
    assert "it raised AttributeError" in within.message


def test_a_report_has_a_line_for_each_property_and_says_nothing_twice():
    lines: list[str] = []
    wrong = SimpleNamespace(one=lambda: 2.0)
    assert not report(wrong, [asks_for_one, asks_for_one], lines.append)
    assert lines == [
        "  FAIL  One is one",
        "        one is 2, expected 1\n        hint: count again",
        "  FAIL  One is one",
        "        the same again",
        "0 of 2 hold",
    ]
    lines.clear()
    assert report(SimpleNamespace(one=lambda: 1.0), [asks_for_one], lines.append)
    assert lines == ["  pass  One is one", "all 1 hold"]


def test_properties_are_public_functions_in_their_order():
    module = ModuleType("a_check")
    text = "import math\nfrom math import *\nclass Case: pass\n_helper = lambda: 0\n"
    functions = 'def second(answer):\n    "It says two."\ndef first(answer): "One"\n'
    exec(text + functions, vars(module))
    assert [statement(p) for p in properties(module)] == ["It says two", "One"]
