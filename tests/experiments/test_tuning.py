"""The search for hyperparameters: it goes on, it can be repeated, and luck is seen."""

import dataclasses
import functools
import importlib
import math
import multiprocessing
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import fmean

import psutil
import pytest

from yieldrl import loggers
from yieldrl.algorithms import dqn, ppo
from yieldrl.cli.options import TuneOptions
from yieldrl.experiments import RunInUseError, SideBySide
from yieldrl.experiments.search_space import make_space
from yieldrl.experiments.tuning import Tuner
from yieldrl.experiments.tuning_jobs import workers

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

CONFIG = ppo.Config(total_steps=30, eval_every=10, learning_rate=1e-3)
SPACE = ["learning_rate=1e-5..1e-1:log", "num_epochs"]


class Trainer:
    """With the best learning rate, 1e-2, it gets 100; and its seed, by luck."""

    def __init__(self, config):
        self.config = config

    def __call__(self):
        for step in (10, 20, 30):
            yield {"log_type": "evaluate", "sample_step": step, **self.evaluate(step)}

    def evaluate(self, episodes, seed=None):
        if self.config.num_epochs > 18:
            raise FloatingPointError("the loss is nan")
        off = abs(math.log10(self.config.learning_rate) + 2)
        value = 100 - 10 * off + self.config.seed + (seed == 1_000_000)
        return {"logs": {"episode_return": value}}

    def close(self, *_):
        pass

    def __enter__(self):
        return self

    __exit__ = close


def make(config):
    if config.learning_rate > 0.05:
        raise ValueError("too high")
    return Trainer(config)


@pytest.fixture
def begin(tmp_path):
    """Begins searches, or goes on with them; SQLite does not wait for the disk."""
    engine = importlib.import_module("sqlalchemy.engine").Engine
    event = importlib.import_module("sqlalchemy.event")
    hurry = lambda x, _: x.execute("PRAGMA synchronous = OFF")  # noqa: E731

    def begun(name="one", make=make, config=CONFIG, space=SPACE, about=(), **chosen):
        parts = make, config, make_space(config, space)
        own = TuneOptions(**chosen)
        return closing(Tuner(tmp_path / name, *parts, own, dict(about)))

    event.listen(engine, "connect", hurry)
    yield begun
    event.remove(engine, "connect", hurry)


def seen(trials):
    return [(x.params, x.value, x.state.name, x.intermediate_values) for x in trials]


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_search_that_was_killed_ends_with_the_same_trials(begin, sampler):
    """Killed where it is in the middle of a trial, which is taken once more."""
    with begin(sampler=sampler) as tuner:
        whole = [*tuner(13)]
    with begin("cut", sampler=sampler) as tuner:
        first = [*islice(tuner(13), 11)]
        tuner.study.ask(tuner.space)  # and nothing is told of it any more
        tuner._run.close()
        with begin("cut", sampler=sampler) as again:
            rest = [*again(13)]
            states = [trial.state.name for trial in again.study.trials]
    assert len(rest) == 2
    assert seen([*first, *rest]) == seen(whole)
    assert (states.count("FAIL"), states.count("RUNNING")) == (1, 0)
    assert whole[0].params == {"learning_rate": 1e-3, "num_epochs": 4}
    assert whole[0].value == 92.0  # 90, and the mean of seeds 1, 2 and 3
    assert whole[0].intermediate_values == {10: 92.0, 20: 92.0, 30: 92.0}
    assert len({str(trial.params) for trial in whole}) == 13


@pytest.mark.parametrize(
    ("pruner", "trials"),
    [("median", 20), ("halving", 12), ("hyperband", 12), ("none", 12)],
)
def test_what_is_not_trained_to_its_end_says_why(begin, pruner, trials):
    space = ["learning_rate=[1e-3, 0.1, 1e-5]", "num_epochs=[4, 19]"]
    with begin(space=space, pruner=pruner, sampler="random") as tuner:
        said = [trial.user_attrs["note"] for trial in tuner(trials)]
        notes = {note.partition(" ")[0] for note in said}
        assert notes - {"pruned"} == {"", "impossible:", "FloatingPointError:"}
        assert ("pruned" in notes) == (pruner != "none")
        assert tuner.best.params == {"learning_rate": 1e-3, "num_epochs": 4}


def test_fresh_seeds_are_others_and_kept(begin):
    made = []

    def noted(config):
        made.append(config.seed)
        return make(config)

    with begin(make=noted, seeds=2) as tuner:
        assert tuner.best is None
        assert [trial.value for trial in tuner(1)] == [91.5]
        assert made == [1, 2]
        assert tuner.fresh(None, 2) == {3: 94.0, 4: 95.0}  # as yieldrl train plays
        assert tuner.fresh(tuner.best, 1) == {3: 94.0}
    with begin(make=noted, seeds=2) as tuner:
        assert tuner.fresh(None, 3) == {3: 94.0, 4: 95.0, 5: 96.0}
    assert made == [1, 2, 3, 4, 3, 5]


def test_a_folder_has_one_search_and_one_who_searches(begin):
    own = {"about": {"algorithm": "ppo"}}
    with begin(**own) as tuner:
        assert len([*tuner(1)]) == 1
        with pytest.raises(RunInUseError):
            begin(**own)
    narrow = ["learning_rate=1e-5..1e-2:log", "num_epochs"]
    for options, said in (
        ({"config": dataclasses.replace(CONFIG, gamma=0.9)}, "gamma was 0.99, and is"),
        ({"space": narrow}, "range of learning_rate was 1e-5..1e-1:log, and is 1e-5"),
        ({"seeds": 4}, "seeds was 3, and is 4; give the new one another --run-name"),
        ({"about": ()}, "algorithm was ppo, and is None"),
    ):
        with pytest.raises(ValueError, match=said):
            begin(**own | options)
    with begin(**own, config=dataclasses.replace(CONFIG, run_name="moved")) as tuner:
        assert len(tuner.ended()) == 1
    files = [Path(file.path).name for file in psutil.Process().open_files()]
    assert "study.db" not in files


SHORT = {"env_id": "yieldrl/CartPole-v1", "total_steps": 192, "device": "cpu"}
SHORT |= {"eval_every": 64, "eval_episodes": 2, "threads": 1}
OWN = {ppo: {"num_steps": 16}, dqn: {"learning_starts": 32}}


@pytest.mark.parametrize("module", [ppo, dqn])
def test_means_are_those_of_trainers_that_train_alone(module):
    """One that ends early, by its own logger, counts with its last evaluation."""

    def trainer(seed):
        return module.Trainer(module.Config(seed=seed, **SHORT, **OWN[module]))

    make = [functools.partial(trainer, seed) for seed in (1, 2, 5)]
    make.append(lambda: loggers.early_stop(threshold=0.0)(trainer(9)))
    curves = []
    for one in make:
        logs = [log for log in one()() if log["log_type"] == "evaluate"]
        curves.append([log["logs"]["episode_return"] for log in logs])
    assert len({value for curve in curves for value in curve}) > 3
    assert len(curves[-1]) == 1
    curves[-1] *= 3
    together = SideBySide(one() for one in make)
    logs = [*together()]
    means = [log["logs"]["episode_return"] for log in logs]
    assert means == [fmean(values) for values in zip(*curves, strict=True)]
    assert [log["sample_step"] for log in logs] == [64, 128, 192]
    together.close()


@pytest.mark.slow
def test_jobs_share_the_trials_and_leave_nothing(begin):
    with begin() as tuner, workers(2) as executor:
        assert next(tuner(9, executor, 2)).number in (0, 1)  # and its loop is left
    assert not multiprocessing.active_children()
    with begin() as tuner, workers(2) as executor:
        before = [trial.state.name for trial in tuner.study.trials]
        assert {*before} <= {"COMPLETE", "FAIL", "PRUNED"}
        assert len([*tuner(5, executor, 2)]) == 5 - len(before) + before.count("FAIL")
        assert tuner.fresh(None, 2, executor, 2) == {4: 95.0, 5: 96.0}
