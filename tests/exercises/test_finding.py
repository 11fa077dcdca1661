"""Which answer is checked, from a shell and from a notebook."""

from __future__ import annotations

from types import ModuleType

import pytest

from yieldrl import buffers
from yieldrl.cli import main
from yieldrl.exercises import chapters, check
from yieldrl.exercises.finding import find

SOLUTION = chapters()["ch09"] / "solution.py"


@pytest.mark.parametrize(
    "name", ["ch09", "9", "09", "CH9", "ch09_actor_critic_and_gae"]
)
def test_a_chapter_has_several_names(name):
    assert find(name) == chapters()["ch09"]


@pytest.mark.parametrize("name", ["ch99", "juggling", "", "-1"])
def test_one_that_is_not_there_says_which_are(name):
    with pytest.raises(ValueError, match=r"choose one of .*ch09"):
        find(name)


def test_functions_of_a_notebook(capsys):
    assert check("ch09", gae=buffers.gae)
    assert check("ch09", {"gae": buffers.gae})
    module = ModuleType("mine")
    vars(module).update(gae=buffers.gae, something_else=1)
    assert check("ch09", module)
    assert capsys.readouterr().out.count("all 8 hold") == 3


def test_a_name_that_nobody_asks_for_is_refused():
    with pytest.raises(ValueError, match="called gea: it has gae, Algorithm, Trainer"):
        check("ch09", gea=buffers.gae)


def test_a_file_that_does_not_import_is_one_line(tmp_path, capsys):
    path = tmp_path / "mine.py"
    for text, said in (
        ("def gae(:\n", "mine.py, line 1: invalid syntax"),
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ):
        path.write_text(text)
        assert not check("ch09", file=path)
        assert said in capsys.readouterr().out


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOLUTION.read_text("utf-8"), "utf-8")
    main(["check", "ch09", "--file", "mine.py"])
    out = capsys.readouterr().out
    assert out.startswith("Chapter 9, actor-critic and GAE: mine.py\n  pass  ")
    with pytest.raises(SystemExit) as exit_:
        main(["check", "ch09"])
    assert exit_.value.code == 1
    for words in (["ch77"], ["ch09", "--file", "none.py"]):
        with pytest.raises(SystemExit) as exit_:
            main(["check", *words])
        assert exit_.value.code == 2
    assert "there is no such file" in capsys.readouterr().err
