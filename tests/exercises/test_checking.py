"""What a check says of an answer, whatever that answer does, and where it is read."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from yieldrl import functional
from yieldrl.cli import main
from yieldrl.exercises import Wrong, chapters, check, expect_close, gaps
from yieldrl.exercises import __main__ as exercises
from yieldrl.exercises.checking import Verdict, report, verdicts

WANT = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
SOLUTION = chapters()["ch09"] / "solution.py"


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
    with pytest.raises(Wrong) as wrong:
        expect_close(got, WANT, named="value")
    assert wrong.value.message.startswith(said)


def test_a_number_is_a_number_of_any_kind_and_precision():
    for got in (2, 2.0, np.float32(2), torch.tensor([2.0]), True + 1):
        expect_close(got, 2.0, named="value")
    for got in ("2", [2.0], WANT, SimpleNamespace()):
        with pytest.raises(Wrong, match="expected a number"):
            expect_close(got, 2.0, named="value")
    expect_close(WANT.double(), WANT, named="value")
    expect_close(WANT / 0, WANT / 0, named="value")


def asks_for_one(answer):
    expect_close(answer.one(), 1.0, named="one", hint="count again")


def found(**members):
    [verdict] = verdicts(SimpleNamespace(**members), {"One is one": asks_for_one})
    return verdict


@pytest.mark.parametrize(
    "error", [ValueError("no\nidea"), SystemExit("bye"), RecursionError(), OSError(5)]
)
def test_errors_of_an_answer_are_verdicts_with_their_line(error):
    def one():
        raise error

    wrong = found(one=one, __answers__=(__file__,))
    assert wrong.message.startswith(f"it raised {type(error).__name__}")
    assert not wrong.message.endswith(":")
    assert "\n" not in wrong.message
    assert wrong.hint.endswith(": raise error")


def test_a_gap_a_missing_name_and_an_interrupt():
    def raises(error):
        def one():
            raise error

        return found(one=one)

    gap = raises(NotImplementedError("start here"))
    assert gap[1:] == (False, "the gap is still open", "start here")
    assert found().message == "there is no `one` in it"
    assert "it raised AttributeError" in raises(AttributeError("no 'two'")).message
    with pytest.raises(KeyboardInterrupt):
        raises(KeyboardInterrupt())


def test_a_report_has_a_line_for_each_property_and_says_nothing_twice():
    lines: list[str] = []
    wrong = Verdict("One is one", False, "one is 2, expected 1", "count again")
    assert found(one=lambda: 2.0) == wrong
    assert not report([wrong, wrong], lines.append)
    assert lines == [
        "  FAIL  One is one",
        "        one is 2, expected 1\n        hint: count again",
        "  FAIL  One is one",
        "        the same again",
        "0 of 2 hold",
    ]
    lines.clear()
    assert report([found(one=lambda: 1.0)], lines.append)
    assert lines == ["  pass  One is one", "all 1 hold"]


def test_a_chapter_has_several_names_and_another_says_which_there_are():
    for name in ("ch09", "9", "09", "CH9", "ch09_actor_critic_and_gae"):
        assert gaps.find(name) == SOLUTION.parent
    for name in ("ch99", "juggling", "", "-1"):
        with pytest.raises(ValueError, match=r"choose one of .*ch09"):
            gaps.find(name)


def test_functions_of_a_notebook(capsys):
    assert check("ch09", gae=functional.gae)
    assert "gae as given\n" in capsys.readouterr().out
    with pytest.raises(ValueError, match="called gea: it has gae, Algorithm"):
        check("ch09", gea=functional.gae)


def test_the_exercise_is_made_once_with_its_gaps_open(tmp_path, monkeypatch, capsys):
    home = tmp_path / SOLUTION.parent.name
    home.mkdir()
    shutil.copy(SOLUTION, home)
    monkeypatch.setattr(gaps, "HOME", tmp_path)
    assert not check("ch09")
    made = home / "exercise.py"
    assert "raise NotImplementedError" in made.read_text("utf-8")
    assert "exercise.py, which has gaps to fill" in capsys.readouterr().out
    made.write_text((home / "solution.py").read_text("utf-8"), "utf-8-sig")
    assert check("ch09")


def test_what_was_written_is_trained(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit, match="ch01_what_is_an_agent has nothing to train"):
        exercises.main("ch01")
    home = shutil.copytree(chapters()["ch11"], tmp_path / chapters()["ch11"].name)
    (home / "exercise.py").write_text((home / "solution.py").read_text("utf-8"))
    monkeypatch.setattr(gaps, "HOME", tmp_path)
    exercises.main("ch11", "SAC", "--total-steps", "64", "--eval-episodes", "1")
    name, evaluation = capsys.readouterr().out.splitlines()
    assert name == "SAC"
    assert evaluation.startswith("      64  episode_return -")


def test_a_file_that_holds_the_gaps_alone_is_enough(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from yieldrl.functional import gae\n")
    assert check("ch09", file=path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def gae(:\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_the_command_line(text, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(SystemExit) as exit_:
        main(["check", "ch09", "--file", "mine.py"])
    assert exit_.value.code == 1
    out = capsys.readouterr().out
    assert out.startswith("Chapter 9, actor-critic and GAE: mine.py\n  FAIL  ")
    assert said in out
    for words in (["ch77"], ["ch09", "--file", "none.py"]):
        with pytest.raises(SystemExit) as exit_:
            main(["check", *words])
        assert exit_.value.code == 2


def test_a_program_that_grades_reads_json(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text('print("hello")\n' + SOLUTION.read_text("utf-8"))
    main(["check", "ch09", "--file", str(path), "--json"])
    out, err = capsys.readouterr()
    passed = json.loads(out)
    assert "hello" in err
    assert all(one["passed"] and not one["message"] for one in passed)
    path.write_text(path.read_text().replace("* ~terminated", ""))
    with pytest.raises(SystemExit) as exit_:
        main(["check", "ch09", "--file", str(path), "--json"])
    assert exit_.value.code == 1
    failed = [one for one in json.loads(capsys.readouterr().out) if not one["passed"]]
    assert all(set(one) == {"property", "passed", "message", "hint"} for one in failed)
    assert "ignores `terminated`" in failed[0]["hint"]
