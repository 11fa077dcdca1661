"""What loggers refuse, before anything is trained."""

import importlib.util
import math

import pytest

from yieldrl import loggers
from yieldrl.loggers.base import require_package

WRONG = [
    (loggers.csv, {"every": -1}, "every"),
    (loggers.csv, {"every": 1.5}, "every"),
    (loggers.csv, {"evry": 10}, "evry"),
    (loggers.checkpoint, {"keep": 0}, "keep"),
    (loggers.checkpoint, {"seconds": -1}, "seconds"),
    (loggers.early_stop, {}, "give threshold= or patience="),
    (loggers.early_stop, {"patience": 0}, "patience"),
    (loggers.early_stop, {"threshold": math.nan}, "threshold"),
    (loggers.early_stop, {"patience": 1, "mode": "best"}, "mode"),
    (loggers.early_stop, {"patience": 1, "log_type": "test"}, "log_type"),
    (loggers.live_plot, {"metrics": ["loss"]}, "metrics"),
]


def test_wrong_arguments():
    for logger, given, said in WRONG:
        with pytest.raises((ValueError, TypeError), match=said):
            logger(**given)


def test_what_is_no_trainer_and_brackets_that_were_forgotten(trainer):
    for other in (trainer(), type(trainer), "ppo"):
        with pytest.raises(TypeError, match=r"csv decorates a trainer.*got"):
            loggers.csv()(other)
    for name in ("csv", "tensorboard", "checkpoint"):
        with pytest.raises((TypeError, ValueError), match="called before it dec"):
            getattr(loggers, name)(trainer)


def test_missing_packages_are_named_with_their_extra(tmp_path, monkeypatch):
    (tmp_path / "no_such_package").mkdir()  # a mere folder is no package
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[wandb\]'"):
        require_package("no_such_package", extra="wandb")
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    for tracker in (loggers.wandb, loggers.trackio):
        extra = tracker.__name__
        with pytest.raises(ImportError, match=rf"pip install 'yieldrl\[{extra}\]'"):
            tracker()


@pytest.mark.parametrize("logger", [loggers.csv, loggers.jsonl])
def test_files_of_others_are_left_as_they_are(logger, trainer):
    path = trainer.run.folder / logger.file_name
    path.write_text("notes\n")
    with pytest.raises(OSError, match=r"it is there already, and a new run begins"):
        list(logger()(trainer)())
    assert path.read_text() == "notes\n"
    assert (trainer.closed_loops, trainer.agent.sample_step) == (0, 0)
