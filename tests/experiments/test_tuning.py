"""The search for hyperparameters: it goes on, it can be repeated, and luck is seen."""

import importlib
import math
import multiprocessing
from contextlib import closing
from itertools import islice

import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli.options import TuneOptions
from yieldrl.experiments import RunInUseError
from yieldrl.experiments.search_space import make_space
from yieldrl.experiments.tuning import Tuner
from yieldrl.experiments.tuning_jobs import workers

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

CONFIG = ppo.Config(total_steps=30, eval_every=10, learning_rate=1e-3)
SPACE = make_space(CONFIG, ["learning_rate=1e-5..1e-1:log", "num_epochs"])


class Trainer:
    """Of the best learning rate, 1e-2, it gets 100; and its seed, by luck."""

    def __init__(self, config):
        self.config, self.closed = config, False

    def __call__(self):
        for step in (10, 20, 30):
            yield {"log_type": "train", "logs": {"loss": 0.0}}
            yield {"log_type": "evaluate", "sample_step": step, **self.evaluate(step)}

    def evaluate(self, episodes, seed=None):
        if self.config.num_epochs > 18:
            raise FloatingPointError("the loss is nan")
        off = abs(math.log10(self.config.learning_rate) + 2)
        value = 100 - 10 * off + self.config.seed + (seed == 1_000_000)
        return {"logs": {"episode_return": value}}

    def close(self):
        pass

    __enter__ = lambda self: self  # noqa: E731
    __exit__ = lambda self, *_: None  # noqa: E731


def make(config):
    if config.learning_rate > 0.05:
        raise ValueError("too high")
    return Trainer(config)


@pytest.fixture
def begin(tmp_path):
    """Begins searches, or goes on with them, in folders below `tmp_path`.

    SQLite does not wait for the disk.
    """
    engine = importlib.import_module("sqlalchemy.engine").Engine
    event = importlib.import_module("sqlalchemy.event")

    def hurry(connection, _):
        connection.execute("PRAGMA synchronous = OFF")

    event.listen(engine, "connect", hurry)

    def begun(name="one", make=make, config=CONFIG, space=SPACE, about=(), **chosen):
        parts = make, config, space, TuneOptions(**chosen), dict(about)
        return closing(Tuner(tmp_path / name, *parts))

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
        tuner.study.ask(SPACE)  # and nothing is told of it any more
        tuner._run.close()
        with begin("cut", sampler=sampler) as again:
            assert len(again.ended()) == 11
            rest = [*again(13)]
            states = [trial.state.name for trial in again.study.trials]
    assert seen([*first, *rest]) == seen(whole)
    assert states.count("FAIL") == 1
    assert "RUNNING" not in states
    assert whole[0].params == {"learning_rate": 1e-3, "num_epochs": 4}
    assert whole[0].value == 92.0  # 90, and the mean of seeds 1, 2 and 3
    assert whole[0].intermediate_values == {10: 92.0, 20: 92.0, 30: 92.0}
    assert len({str(trial.params) for trial in whole}) == 13


def test_what_is_not_trained_to_its_end_says_why(begin):
    with begin(space=make_space(CONFIG, ["learning_rate=[1e-3, 0.1, 1e-5]"])) as tuner:
        notes = {x.params["learning_rate"]: x.user_attrs["note"] for x in tuner(12)}
        assert notes[0.1] == "impossible: too high"
        assert notes[1e-3] == ""
        assert notes[1e-5] in ("", "pruned at step 10, with 72")
        pruned = {x.user_attrs["note"] for x in tuner.ended()}
        assert "pruned at step 10, with 72" in pruned
        assert tuner.best.params == {"learning_rate": 1e-3}
    with begin("b", space=make_space(CONFIG, ["num_epochs=19..20"])) as tuner:
        assert [x.user_attrs["note"] for x in tuner(1)] == ["diverged: the loss is nan"]
        assert tuner.best is None


def test_fresh_seeds_are_others_and_kept(begin):
    made = []

    def noted(config):
        made.append(config.seed)
        return make(config)

    with begin(make=noted, seeds=2) as tuner:
        assert [trial.value for trial in tuner(1)] == [91.5]
        assert made == [1, 2]
        assert tuner.fresh(None, 2) == {3: 94.0, 4: 95.0}  # as yieldrl train plays
        assert tuner.fresh(tuner.best, 1) == {3: 94.0}
    with begin(make=noted, seeds=2) as tuner:
        assert tuner.fresh(None, 3) == {3: 94.0, 4: 95.0, 5: 96.0}
    assert made == [1, 2, 3, 4, 3, 5]


def test_a_folder_has_one_search_and_one_who_searches(begin):
    with begin(about={"algorithm": "ppo"}) as tuner:
        [*tuner(1)]
        with pytest.raises(RunInUseError):
            begin(about={"algorithm": "ppo"})
    wider = make_space(CONFIG, ["learning_rate=1e-5..1e-2:log", "num_epochs"])
    for options, said in (
        (
            {"config": ppo.Config(**{**CONFIG.to_dict(), "gamma": 0.9})},
            "gamma was 0.99",
        ),
        ({"space": wider}, "range of learning_rate was 1e-05 to 0.1, logarithmic, and"),
        ({"seeds": 4}, "seeds was 3, and is 4; give the new one another --run-name"),
        ({"about": ()}, "algorithm was ppo, and is None"),
    ):
        with pytest.raises(ValueError, match=said):
            begin(**{"about": {"algorithm": "ppo"}, **options})
    with begin(about={"algorithm": "ppo"}) as tuner:
        assert len(tuner.ended()) == 1
    with pytest.raises(ValueError, match="eval_every = 0: trials are compared by eval"):
        begin("b", config=ppo.Config(eval_every=0))


@pytest.mark.parametrize("pruner", ["halving", "hyperband", "none"])
def test_pruners(begin, pruner):
    with begin(pruner=pruner) as tuner:
        trials = [*tuner(8)]
    assert any(trial.state.name == "PRUNED" for trial in trials) == (pruner != "none")


@pytest.mark.slow
@pytest.mark.parametrize("where", ["processes", "ray"])
def test_jobs_share_the_trials(begin, where):
    if where == "ray":
        pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with begin() as tuner, workers(2, "" if where == "ray" else None) as executor:
        trials = [*tuner(5, executor, 2)]
        assert sorted(trial.number for trial in trials) == [0, 1, 2, 3, 4]
        assert tuner.fresh(None, 2, executor, 2) == {4: 95.0, 5: 96.0}
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_search_that_is_left_leaves_no_process_and_no_running_trial(begin):
    with begin() as tuner, workers(2) as executor:
        assert next(tuner(5, executor, 2)).number in (0, 1)
    assert not multiprocessing.active_children()
    with begin() as tuner:
        assert {x.state.name for x in tuner.study.trials} <= {"COMPLETE", "FAIL"}
