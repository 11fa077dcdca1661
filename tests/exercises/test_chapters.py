"""Each exercise: its solution passes, its gaps fail, and mistakes are named."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from yieldrl.exercises import chapters, check
from yieldrl.exercises.checking import Verdict, verdicts
from yieldrl.exercises.gaps import gaps, opened, title
from yieldrl.exercises.mistakes import Solution, parse

CHAPTERS = chapters()
NAMED = CHAPTERS.items()
LONG = ("ch02", "ch14", "ch17")  # many trainings
each_chapter = pytest.mark.parametrize("folder", CHAPTERS.values(), ids=list(CHAPTERS))


def properties(folder: Path) -> dict[str, Any]:
    check = importlib.import_module(f"yieldrl.exercises.{folder.name}.check")
    return check.CHAPTER.properties


def first_wrong(folder: Path, answer: ModuleType) -> Verdict | None:
    """The first property that fails; what fails after it may follow from it."""
    found = verdicts(answer, properties(folder))
    return next((verdict for verdict in found if not verdict.passed), None)


@each_chapter
def test_the_solution_passes_and_the_gaps_fail_cleanly(folder, tmp_path, capsys):
    assert check(folder.name, file=folder / "solution.py"), capsys.readouterr().out
    path = tmp_path / "exercise.py"
    path.write_text(opened(folder), "utf-8")
    assert not check(folder.name, file=path)
    out = capsys.readouterr().out
    assert "the gap is still open" in out
    assert "it raised" not in out


@each_chapter
def test_an_exercise_is_its_solution_without_the_gaps(folder):
    whole, text = ((folder / "solution.py").read_text("utf-8"), opened(folder))
    assert "# gap" not in text
    assert max(map(len, text.splitlines())) <= 88
    found = [
        {
            part.name: ast.unparse(part)
            for part in body
            if isinstance(part, ast.FunctionDef | ast.ClassDef)
        }
        for body in (ast.parse(whole).body, ast.parse(text).body)
    ]
    assert list(found[0]) == list(found[1])
    assert [name for name in found[0] if found[0][name] != found[1][name]] == gaps(
        folder
    )
    assert all(properties(folder))
    assert title(folder).startswith(f"Chapter {int(folder.name[2:4])}, ")


@pytest.mark.parametrize(
    "folder",
    [pytest.param(x, marks=pytest.mark.slow) if k in LONG else x for k, x in NAMED],
    ids=list(CHAPTERS),
)
def test_mistakes_are_noticed_and_named(folder):
    """All of `mistakes.txt`: what is said first is what the table says."""
    solution, told = Solution(folder), []
    assert len(solution.mistakes) >= 3
    for old, new, hint in solution.mistakes:
        wrong = first_wrong(folder, solution.changed((old, new)))
        said = "it was not noticed" if wrong is None else wrong.hint
        if said != hint:
            told.append(f"{old!r} => {new!r}: {said}, expected {hint}")
    assert not told, "\n".join(told)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_right_answers_that_are_written_in_another_way_pass(chapter):
    folder, table = CHAPTERS[chapter], Path(__file__).with_name("equivalents.txt")
    for old, new, of in parse(table.read_text("utf-8")):
        if of.startswith(chapter):
            wrong = first_wrong(folder, Solution(folder).changed((old, new)))
            assert wrong is None, (new, wrong)


def off(result: Any) -> Any:
    """Floating-point results that no known mistake gives."""
    if isinstance(result, tuple):
        return tuple(map(off, result))
    floats = isinstance(result, float | np.ndarray) or torch.is_tensor(result)
    if not floats or (torch.is_tensor(result) and not result.is_floating_point()):
        return result
    return 0.963 * result + 0.0113


@each_chapter
def test_of_an_unknown_mistake_numbers_are_said_and_no_cause(folder):
    if folder.name[:4] in ("ch02", "ch13", "ch14", "ch17"):
        return  # these change their arguments, or are classes
    answer = Solution(folder).changed()
    for name in gaps(folder):
        right = getattr(answer, name)
        setattr(
            answer, name, lambda *given, of=right, **named: off(of(*given, **named))
        )
    found = [v for v in verdicts(answer, properties(folder)) if not v.passed]
    assert any(", expected " in verdict.message for verdict in found)
    assert not any(verdict.hint for verdict in found), found
