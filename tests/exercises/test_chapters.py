"""Each exercise: its solution passes, its gap fails, and mistakes are named."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from yieldrl.exercises import chapters, check
from yieldrl.exercises.checking import properties, statement, verdict
from yieldrl.exercises.finding import load, names, title

PLANTED = Path(__file__).parent / "planted"
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
def test_exercise_and_solution_define_the_same(folder):
    assert names(folder / "exercise.py") == names(folder / "solution.py")


@each_chapter
def test_properties_are_stated_once_and_on_one_line(folder):
    said = [statement(holds) for holds in properties(checks(folder))]
    assert all(said)
    assert len(set(said)) == len(said)
    assert title(folder).startswith(f"Chapter {int(folder.name[2:4])}, ")


@each_chapter
def test_at_least_three_mistakes_are_planted(folder):
    assert len(planted(folder)) >= 3


MISTAKES = [
    pytest.param(folder, *mistake, id=f"{chapter}-{mistake[2]}")
    for chapter, folder in CHAPTERS.items()
    for mistake in planted(folder)
]


@pytest.mark.parametrize(("folder", "old", "new", "words"), MISTAKES)
def test_a_planted_mistake_is_named(folder, old, new, words, tmp_path):
    """The first property that fails says it; what fails after that may follow."""
    solution = (folder / "solution.py").read_text("utf-8")
    assert solution.count(old) == 1, f"{old!r} is not once in the solution"
    path = tmp_path / "answer.py"
    path.write_text(solution.replace(old, new), "utf-8")
    answer = load(path)
    for holds in properties(checks(folder)):
        wrong = verdict(holds, answer)
        if wrong is not None:
            assert words in wrong.hint, (wrong.message, wrong.hint)
            return
    pytest.fail("the mistake was not noticed")
