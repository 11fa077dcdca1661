"""A transition can be followed from the trainer's call to the loss."""

import inspect
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from factories import trainer_of

import yieldrl

ROOT = Path(yieldrl.__file__).parent
LOSSES = {"a2c": "loss", "dqn": "loss", "ppo": "loss", "sac": "critic_loss"}


@pytest.mark.parametrize("name", LOSSES)
def test_six_names_lie_between_the_call_and_the_loss(name):
    trainer, found = trainer_of(name), []
    loss = getattr(trainer.algorithm, LOSSES[name])

    def followed(*args):
        frame = inspect.currentframe()
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT) and "tests" not in path.parts:
                found.append(frame.f_code.co_qualname)
            frame = frame.f_back
        return loss(*args)

    setattr(trainer.algorithm, LOSSES[name], followed)
    with trainer:
        for log in islice(trainer(), 1000):
            if log["log_type"] == "train":
                break
    first = found[: found.index("Trainer.__call__") + 1]
    assert len(first) + 1 <= 6, first  # and the loss itself


@pytest.mark.parametrize("name", LOSSES)
def test_no_part_has_more_than_four_ancestors_of_ours(name):
    with trainer_of(name) as trainer:
        parts = trainer, trainer.agent, trainer.algorithm, trainer.model
        parts += (trainer.config,)
        for part in parts:
            ours = [x for x in type(part).__mro__ if x.__module__.startswith("yieldrl")]
            assert len(ours) <= 4, ours


@pytest.mark.parametrize("name", LOSSES)
def test_a_trainer_shows_25_names(name):
    with trainer_of(name) as trainer:
        shown = [x for x in dir(trainer) if not x.startswith("_")]
        assert len(shown) <= 25, shown


MADE = """
import sys
from pathlib import Path
import yieldrl
from yieldrl.algorithms import a2c
a2c.Trainer(a2c.Config(eval_every=0)).close()
root = Path(yieldrl.__file__).parent
files = {Path(getattr(x, "__file__", None) or "/") for x in [*sys.modules.values()]}
ours = [x for x in files if x.is_relative_to(root) and "site-packages" not in x.parts]
print(len(ours), sum(x.read_text("utf-8").count("\\n") for x in ours))
"""


def test_a_trainer_loads_90_modules_of_10_000_lines(tmp_path):
    """A2C's, which loads the most of the four: worlds, wrappers and processes wait."""
    command = [sys.executable, "-c", MADE]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    modules, lines = map(int, said.stdout.split())
    assert modules <= 90
    assert lines <= 10_000
