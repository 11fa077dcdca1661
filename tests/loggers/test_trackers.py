"""Weights & Biases and Trackio: what they are handed, and real runs, no network."""

import contextvars
import inspect
import sys
import types
from importlib.machinery import ModuleSpec

import pytest

from yieldrl import loggers


class Run:
    """A run of either package; `log` and `finish` are those of Trackio, 0.43."""

    def __init__(self, settings):
        self.settings, self.logs, self.told = settings, [], []

    def log(self, metrics, step=None):
        self.logs.append(metrics if step is None else {**metrics, "sample_step": step})

    def finish(self):
        self.told.append("finish")

    def define_metric(self, name, step_metric):
        self.told.append(step_metric)


class Wandb(types.ModuleType):
    """Stands in for a package, and keeps its runs."""

    def __init__(self, name):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None, origin="here")
        self.runs = []

    def init(self, **settings):
        self.runs.append(Run(settings))
        return self.runs[-1]


class Trackio(Wandb):
    """A part of the arguments of `init`, which ends the run that is current."""

    current = contextvars.ContextVar("current", default=None)

    def init(
        self, project, name=None, group=None, config=None, resume="never", embed=True
    ):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if self.current.get() is not None:
            self.current.get().finish()
        self.current.set(run := super().init(**given))
        return run


def play(make_trainer, tracker, **init_kwargs):
    """Two loops of one trainer, the first of which is left."""
    trainer = make_trainer(total_steps=40, eval_every=40)
    stack = tracker("test", every=20, **init_kwargs)(trainer)
    for log in stack():
        if log["sample_step"] == 22:
            break
    list(stack())
    return trainer


@pytest.mark.parametrize(
    ("fake", "told", "more"),
    [(Wandb, ["sample_step"], {"mode": "offline"}), (Trackio, [], {"group": "g"})],
)
def test_two_loops_are_one_run(make_trainer, monkeypatch, fake, told, more):
    name = fake.__name__.lower()
    sdk = fake(name)
    monkeypatch.setitem(sys.modules, name, sdk)
    trainer = play(make_trainer, getattr(loggers, name), **more)
    first, second = sdk.runs
    token = (trainer.run.folder / f"{name}_id.txt").read_text().strip()
    own = {"wandb": {"id": token}, "trackio": {"embed": False}}[name]
    called = trainer.run.folder.name + (f"-{token}" if name == "trackio" else "")
    expected = {"project": "test", "name": called, "resume": "allow", **more, **own}
    for run in (first, second):
        assert run.settings.items() >= expected.items()
        assert run.settings["config"] == trainer.config.to_dict()
        assert run.told == [*told, "finish"]
    steps = {"sample_step": 20, "learn_step": 9}
    assert first.logs[:2] == [
        {"train/loss": 5.5, "sample_step": 20, "learn_step": 10},
        {"collect/episode_return": 15.0, "collect/episodes": 2.0, **steps},
    ]
    steps = {"sample_step": 40, "learn_step": 19}
    said = {"evaluate/episode_return": 20.0, "evaluate/episodes": 2.0, **steps}
    assert said in second.logs


def test_other_runs_of_the_project_are_left_alone(make_trainer, monkeypatch):
    """Trackio knows a run by its name, and ends the one that is current."""
    sdk = Trackio("trackio")
    monkeypatch.setitem(sys.modules, "trackio", sdk)
    loops = [loggers.trackio()(make_trainer())() for _ in range(2)]
    assert [next(loop)["sample_step"] for loop in loops] == [2, 2]
    assert [run.told for run in sdk.runs] == [[], []]
    assert len({run.settings["name"] for run in sdk.runs}) == 2
    for loop in loops:
        loop.close()
    assert [run.told for run in sdk.runs] == [["finish"], ["finish"]]
    play(make_trainer, loggers.trackio, name="mine")
    assert sdk.runs[-1].settings["name"] == "mine"


def test_the_stand_in_has_the_signatures_of_trackio():
    package = pytest.importorskip("trackio", reason="needs trackio, and pillow < 13")
    for ours, real in ((Trackio("x").init, package.init), (Run.log, package.Run.log)):
        known = inspect.signature(real).parameters
        for name, parameter in inspect.signature(ours).parameters.items():
            assert known[name].default == parameter.default, name


@pytest.mark.slow
def test_a_run_of_wandb_without_a_network(make_trainer):
    pytest.importorskip("wandb", reason="its runs need wandb")
    trainer = play(make_trainer, loggers.wandb, mode="offline")
    runs = [*(trainer.run.folder / "wandb").glob("offline-run-*/*.wandb")]
    run_id = (trainer.run.folder / "wandb_id.txt").read_text().strip()
    assert [file.name for file in runs] == [f"run-{run_id}.wandb"] * 2
    assert all(file.stat().st_size for file in runs)
