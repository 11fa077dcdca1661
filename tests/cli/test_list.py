"""`yieldrl list`, its family tree, `yieldrl new`, and what an import costs."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import yieldrl.algorithms
from yieldrl.cli import catalog, main

DOUBLE = {
    "__init__": """from yieldrl.algorithms.dqn import Agent, Config, Model
from .algorithm import Algorithm
from .trainer import Trainer
""",
    "algorithm": """from yieldrl.algorithms import dqn
class Algorithm(dqn.Algorithm):
    pass

# A comment.
""",
    "trainer": """from yieldrl.algorithms import dqn
class Trainer(dqn.Trainer):
    pass
""",
}


def test_each_is_listed_and_in_the_tree_below_the_one_that_it_extends(capsys):
    main(["list"])
    out = capsys.readouterr().out
    assert re.search(r"--config mujoco: return \d+ \+- \d+ on Hopper-v5, ", out)
    assert "--config bsuite: docs/results/bsuite-catch.json\n" in out
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines["ppo"].startswith("Proximal policy optimization")
    assert lines["dqn"].startswith("Deep Q-network")
    main(["list", "--tree"])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["algorithm", "lines", "classes", "of", "its", "own"]
    depth = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines}
    assert depth.keys() == catalog.folders().keys()
    assert (depth["dqn"], depth["double_dqn"]) == (0, 2)
    (rainbow,) = (line for line in lines if line.split()[0] == "rainbow")
    assert depth["rainbow"] == 4
    first, *others = next(x for x in catalog.members() if x.name == "rainbow").parents
    assert depth[first] == 2
    assert rainbow.endswith(f"(also from {', '.join(others)})")


def test_the_family_is_read_off_the_classes(tmp_path, monkeypatch):
    """With a variant of DQN beside the package's own algorithms."""
    folder = tmp_path / "test_double"
    folder.mkdir()
    for name, text in DOUBLE.items():
        (folder / f"{name}.py").write_text(text)
    path = [*yieldrl.algorithms.__path__, str(tmp_path)]
    monkeypatch.setattr(yieldrl.algorithms, "__path__", path)
    members = {member.name: member for member in catalog.members()}
    for member in members.values():
        assert member.changed, f"{member.name} changes nothing"
        assert member.lines > 0
    assert members["dqn"].parents == members["ppo"].parents == ()
    assert members["dqn"].changed == catalog.PARTS
    assert members["test_double"].parents == ("dqn",)
    assert members["test_double"].changed == ("Algorithm", "Trainer")
    assert members["test_double"].lines == 3 + 5 + 3
    assert {"double_dqn", "c51"} < {*members["rainbow"].parents}
    order = list(members)
    assert order.index("dqn") < order.index("test_double")
    assert order.index("double_dqn") < order.index("rainbow")


HEAVY = {"torch", "matplotlib", "wandb", "tensorboard", "gymnasium", "numpy"}
HEAVY |= {"IPython", "imageio", "imageio_ffmpeg", "tqdm"}


@pytest.mark.parametrize("words", [["list"], ["train", "--help"]])
def test_help_and_list_import_nothing_heavy(words):
    """Nor do loggers that are made."""
    video = ", loggers.video()" * bool(find_spec("imageio_ffmpeg"))
    program = (
        f"import sys; from yieldrl.cli import main; from yieldrl import loggers\n"
        f"loggers.csv(), loggers.wandb(), loggers.live_plot(){video}\n"
        f"try: main({words})\n"
        f"except SystemExit: pass\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_command_must_be_one_of_ours(capsys):
    for words, said in {
        "": "Expected one of {list, train,",
        "trian ppo": "no command 'trian': did you mean train?",
        "frobnicate": "choose one of list, train,",
        "train": "Missing from yieldrl train: ALGORITHM",
        "train pppo": "no algorithm is called 'pppo': did you mean ppo",
        "evaluate x --episodes many": "--episodes: 'many' is no {None}|INT",
    }.items():
        with pytest.raises(SystemExit) as exit_:
            main(words.split())
        assert exit_.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("yieldrl: error: ")
        assert said in line


def test_a_copy_names_itself(capsys):
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


def test_into_makes_a_folder(capsys):
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
