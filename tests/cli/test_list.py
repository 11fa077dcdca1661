"""`yieldrl list`, its family tree, and what importing the command line costs."""

import subprocess
import sys
from importlib.util import find_spec

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
    lines = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
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
