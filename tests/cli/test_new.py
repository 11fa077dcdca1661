"""`yieldrl new`: a copy of a folder, under a name of its own."""

import os
from pathlib import Path

from yieldrl.cli import catalog, main


def test_a_copy_names_itself_and_lies_where_it_is_wanted(capsys):
    main(["new", "my_ppo", "--from", "ppo"])
    out = capsys.readouterr().out
    assert "my_ppo is a copy of ppo: __init__.py, __main__.py, agent.py" in out
    assert "  python -m my_ppo --help\n" in out
    assert "cd " not in out
    copied = {path.name for path in Path("my_ppo").iterdir()}
    original = {path.name for path in catalog.folder("ppo").iterdir()}
    assert copied == original - {"__pycache__", "agents"}
    text = Path("my_ppo/__main__.py").read_text()
    assert "`python -m my_ppo --help`" in text
    for path in Path("my_ppo").rglob("*.py"):
        assert "yieldrl.algorithms.ppo" not in path.read_text()
    main(["new", "my_dqn", "--from", "dqn", "--into", "some/where"])
    assert Path("some/where/my_dqn/trainer.py").is_file()
    assert f"  cd {Path('some/where')}\n" in capsys.readouterr().out


def test_only_the_source_is_renamed(tmp_path, monkeypatch):
    home = tmp_path / "ppo"
    home.mkdir()
    (home / "__init__.py").write_text(
        "# yieldrl train ppo; yieldrl train ppo_big; yieldrl.algorithms.ppo.agent\n"
        "from yieldrl.algorithms.ppo_big import Model\n"
        "from yieldrl.algorithms import dqn\n"
    )
    monkeypatch.setattr(catalog, "folders", lambda: {"ppo": home})
    main(["new", "mine", "--from", "ppo"])
    assert Path("mine/__init__.py").read_text() == (
        "# python -m mine; yieldrl train ppo_big; mine.agent\n"
        "from yieldrl.algorithms.ppo_big import Model\n"
        "from yieldrl.algorithms import dqn\n"
    )


def test_a_bad_name_gets_one_line(refused):
    Path("taken").touch()
    for name, message in {
        "my-ppo": "'my-ppo' is no name that Python can import",
        "../ppo": "no name that Python can import",
        "class": "no name that Python can import",
        "torch": "'torch' hides another module",
        "sys": "'sys' hides another module",
        "taken": "taken is there already",
    }.items():
        assert message in refused("new", name, "--from", "ppo")
        assert os.listdir() == ["taken"]
    assert "no algorithm is called 'ppp'" in refused("new", "mine", "--from", "ppp")
