"""`yieldrl list`, its family tree, and what importing the command line costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import yieldrl.algorithms
from yieldrl.cli import catalog, main

DOUBLE = '''"""Double test DQN (nobody 2026)."""

from yieldrl.algorithms.dqn import Agent, Config, Model

from .algorithm import Algorithm
from .trainer import Trainer

__all__ = ["Agent", "Algorithm", "Config", "Model", "Trainer"]
'''
ALGORITHM = '''"""The mathematics."""

from yieldrl.algorithms import dqn


class Algorithm(dqn.Algorithm):
    """Something else.

    Over several lines.
    """

    # A comment.
    def next_action(self, data):
        return self.model.value(
            data["next_obs"]
        ).argmax(1)
'''
TRAINER = """from yieldrl.algorithms import dqn

from .algorithm import Algorithm


class Trainer(dqn.Trainer):
    algorithm_class = Algorithm
"""
RAINBOW = '''"""Test rainbow."""

from yieldrl.algorithms import dqn, test_double
from yieldrl.algorithms.dqn import Agent, Config
from yieldrl.algorithms.test_double import Model, Trainer


class Algorithm(test_double.Algorithm):
    pass
'''


@pytest.fixture
def relatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two variants of DQN beside the package's own algorithms."""
    sources = {
        "test_double": {
            "__init__.py": DOUBLE,
            "algorithm.py": ALGORITHM,
            "trainer.py": TRAINER,
        },
        "test_rainbow": {"__init__.py": RAINBOW},
    }
    for name, files in sources.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    path = [*yieldrl.algorithms.__path__, str(tmp_path)]
    monkeypatch.setattr(yieldrl.algorithms, "__path__", path)
    return tmp_path


def test_list_says_what_each_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    lines = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert lines["ppo"].startswith("Proximal policy optimization")
    assert lines["dqn"].startswith("Deep Q-network")


def test_every_algorithm_changes_something() -> None:
    for member in catalog.members():
        assert member.changed, f"{member.name} changes nothing"
        assert member.lines > 0


def test_the_family_is_read_off_the_classes(relatives: Path) -> None:
    members = {member.name: member for member in catalog.members()}
    assert members["dqn"].parents == members["ppo"].parents == ()
    assert members["dqn"].changed == catalog.PARTS
    assert members["test_double"].parents == ("dqn",)
    assert members["test_double"].changed == ("Algorithm", "Trainer")
    assert members["test_double"].lines == 4 + 6 + 4
    assert members["test_rainbow"].parents == ("test_double",)
    assert members["test_rainbow"].changed == ("Algorithm",)
    order = list(members)
    assert order.index("dqn") < order.index("test_double") < order.index("test_rainbow")


HEAVY = "{'torch', 'matplotlib', 'wandb', 'tensorboard', 'gymnasium', 'numpy'}"


@pytest.mark.parametrize("words", [["list"], ["train", "--help"]])
def test_help_and_list_import_nothing_heavy(words: list[str]) -> None:
    program = (
        f"import sys; from yieldrl.cli import main\n"
        f"try: main({words})\n"
        f"except SystemExit: pass\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_python_m_yieldrl_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "yieldrl", "list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "\nppo " in f"\n{done.stdout}"


def test_a_command_must_be_one_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["trian", "ppo"], ["train"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 2
        assert "yieldrl" in capsys.readouterr().err
