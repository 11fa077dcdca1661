"""The figure of chapter 18, and what its page says of it and of GRPO's relatives."""

from __future__ import annotations

import importlib
import re

import pytest
from site_logic import DOCS

from yieldrl.docs._site import course

PAGE = next((DOCS / "course").glob("18-*.md")).read_text("utf-8")
TEXT = " ".join(PAGE.split())


@pytest.fixture(scope="module")
def figure():
    return course.load("answers_compared")


def pushed(figure, right, name):
    return figure["group"](right, figure["ALGORITHMS"][name])


def test_an_answer_is_as_long_as_its_tokens_and_right_or_wrong(figure):
    for right in range(9):
        found = pushed(figure, right, "GRPO")
        assert found.returns == [1.0] * right + [0.0] * (8 - right)
        assert [word == ["4", "2", "end"] for word in found.words] == [
            earned == 1 for earned in found.returns
        ]
        written = [len(word) for word in found.words]
        assert (found.push != 0).sum(1).tolist() == (
            written if 0 < right < 8 else [0] * 8
        )


def test_three_right_answers_are_pushed_as_the_page_says(figure):
    """Mean 3/8, standard deviation sqrt(15)/8: 5 / sqrt(15) and -3 / sqrt(15)."""
    found = pushed(figure, 3, "GRPO")
    good, bad = 5 / 15**0.5, -3 / 15**0.5
    assert found.advantage == pytest.approx([good] * 3 + [bad] * 5, abs=1e-5)
    assert found.push.sum(1).tolist() == pytest.approx(found.advantage, abs=1e-5)
    assert f"loses the same, {-bad:.2f}" in TEXT
    long, short = (
        found.push[found.words.index(word), 0] for word in (list("4222"), ["end"])
    )
    assert long == pytest.approx(short / 4)
    assert "a quarter of what a token of a short one is" in TEXT


@pytest.mark.parametrize("name", ["Dr. GRPO", "DAPO"])
def test_a_token_is_a_token_where_nothing_is_divided_by_its_own_length(figure, name):
    found = pushed(figure, 3, name)
    wrong = found.push[3:]
    assert wrong[wrong != 0].tolist() == pytest.approx([float(wrong.min())] * 13)
    assert f"*{name}*" in TEXT


def test_the_others_are_compared_by_leave_one_out(figure):
    assert pushed(figure, 3, "RLOO").advantage == pytest.approx(
        [5 / 7] * 3 + [-3 / 7] * 5
    )


def test_bars_go_up_for_what_was_better_and_down_for_the_rest(figure):
    frame = figure["frame"](3, figure["ALGORITHMS"]["GRPO"])
    up, down = frame["up height"], frame["down height"]
    assert [bool(of) for of in up] == [True, True, True, False] * 3 + [False] * 20
    assert max(down) == figure["REACH"]  # the only token of who ended at once
    assert down.index(max(down)) == 4 * figure["WRONG"].index("")
    nothing = figure["frame"](0, figure["ALGORITHMS"]["GRPO"])
    assert not any(nothing["up height"] + nothing["down height"])


def test_relatives_have_the_methods_that_the_table_names():
    rows = re.findall(
        r"^\| \[.+?\]\(\.\./algorithms/(\w+)\.md\) \| (`.+?`) \|", PAGE, re.MULTILINE
    )
    assert [name for name, _ in rows] == [
        *("rloo", "dr_grpo", "reinforce_pp", "dapo", "gspo")
    ]
    for name, methods in rows:
        own = vars(importlib.import_module(f"yieldrl.algorithms.{name}").Algorithm)
        named = set(re.findall(r"`(\w+)`", methods))
        assert named == {key for key, of in own.items() if callable(of)}


def test_what_is_said_of_informative_groups_is_their_probability():
    def informative(p, size):
        return 1 - p**size - (1 - p) ** size

    assert f"{informative(0.01, 8):.0%}" == "8%"
    assert "eight groups out of a hundred are" in TEXT
    assert "nearly every second one of 64" in TEXT
    assert 0.45 < informative(0.01, 64) < 0.5
