"""Each exercise: its solution passes, its gap fails, and mistakes are named."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from yieldrl.exercises import chapters, check
from yieldrl.exercises.checking import properties, statement, verdict
from yieldrl.exercises.comparing import Wrong
from yieldrl.exercises.finding import load, names, title
from yieldrl.exercises.mistakes import Solution

PLANTED = Path(__file__).parent / "planted"
FILES = "solution.py", "exercise.py"
CHAPTERS = chapters()
each_chapter = pytest.mark.parametrize("folder", CHAPTERS.values(), ids=list(CHAPTERS))


def planted(folder: Path) -> list[tuple[str, str, str]]:
    path = PLANTED / f"{folder.name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PLANTED


def checks(folder: Path) -> ModuleType:
    return importlib.import_module(f"yieldrl.exercises.{folder.name}.check")


@each_chapter
def test_the_solution_passes(folder, capsys):
    assert check(folder.name, file=folder / "solution.py"), capsys.readouterr().out


@each_chapter
def test_the_gap_fails_cleanly(folder, capsys):
    assert not check(folder.name)
    out = capsys.readouterr().out
    assert out.count("  FAIL  ") >= 1
    assert "the gap is still open" in out
    assert "it raised" not in out


@each_chapter
def test_the_solution_has_the_gaps_and_no_helper(folder):
    """What `exercise.py` has already is not repeated."""
    solved, body = names(folder / "solution.py"), {}
    for part in ast.parse((folder / "exercise.py").read_text("utf-8")).body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            body[part.name] = ast.unparse(part)
    gaps = [name for name, text in body.items() if "raise NotImplementedError" in text]
    assert gaps
    assert set(gaps) <= set(solved) <= set(body)
    for part in ast.parse((folder / "solution.py").read_text("utf-8")).body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            assert ast.unparse(part) != body[part.name]


@each_chapter
def test_properties_are_stated_once_and_on_one_line(folder):
    said = [statement(holds) for holds in properties(checks(folder))]
    assert all(said)
    assert len(set(said)) == len(said)
    assert title(folder).startswith(f"Chapter {int(folder.name[2:4])}, ")


@each_chapter
def test_at_least_three_mistakes_are_planted(folder):
    assert len(planted(folder)) >= 3


def first_hint(folder: Path, old: str, new: str, home: Path) -> Wrong | None:
    """What the first property that fails says; what fails after that may follow."""
    texts = {name: (folder / name).read_text("utf-8") for name in FILES}
    name = next((name for name in FILES if old in texts[name]), FILES[0])
    assert texts[name].count(old) == 1, f"{old!r} is not once in {name}"
    texts[name] = texts[name].replace(old, new)
    for name, text in texts.items():
        (home / name).write_text(text, "utf-8")
    solution, exercise = (home / name for name in FILES)
    answer = load(exercise, solution, gaps=names(folder / "solution.py"))
    found = (verdict(holds, answer) for holds in properties(checks(folder)))
    return next((wrong for wrong in found if wrong is not None), None)


MISTAKES = [
    pytest.param(folder, *mistake, id=f"{chapter}-{mistake[2]}")
    for chapter, folder in CHAPTERS.items()
    for mistake in planted(folder)
]
KNOWN = [
    pytest.param(folder, *mistake, id=f"{chapter}-{mistake.hint}")
    for chapter, folder in CHAPTERS.items()
    for mistake in Solution(folder).mistakes
    if mistake[:2] not in [other[:2] for other in planted(folder)]
]


@pytest.mark.parametrize(("folder", "old", "new", "words"), MISTAKES)
def test_a_planted_mistake_is_named(folder, old, new, words, tmp_path):
    wrong = first_hint(folder, old, new, tmp_path)
    assert wrong is not None, "the mistake was not noticed"
    assert words in wrong.hint, (wrong.message, wrong.hint)


@pytest.mark.parametrize(("folder", "old", "new", "hint"), KNOWN)
def test_a_mistake_of_the_table_is_named(folder, old, new, hint, tmp_path):
    wrong = first_hint(folder, old, new, tmp_path)
    assert wrong is not None, "the mistake was not noticed"
    assert wrong.hint == hint, wrong.message
