"""The Weights & Biases logger: what it hands over, and a real run without a network."""

import sys
import types
from importlib.machinery import ModuleSpec

import pytest

from yieldrl import loggers


class Sdk(types.ModuleType):
    """Stands in for the package: what its runs were made of, and what they got."""

    def __init__(self):
        super().__init__("wandb")
        self.__spec__ = ModuleSpec("wandb", None, origin="here")
        self.runs = []

    def init(self, **settings):
        run = types.SimpleNamespace(settings=settings, logs=[], told=[])
        run.log = run.logs.append
        run.finish = lambda: run.told.append("finish")
        run.define_metric = lambda name, step_metric: run.told.append(step_metric)
        self.runs.append(run)
        return run


def play(make_trainer):
    """Two loops of one trainer, the first of which is left."""
    trainer = make_trainer(total_steps=40, eval_every=40)
    stack = loggers.wandb("test", mode="offline", every=20, name="mine")(trainer)
    for log in stack():
        if log["sample_step"] == 22:
            break
    list(stack())
    return trainer


def test_two_loops_are_one_run(make_trainer, monkeypatch):
    sdk = Sdk()
    monkeypatch.setitem(sys.modules, "wandb", sdk)
    trainer = play(make_trainer)
    first, second = sdk.runs
    run_id = (trainer.run.folder / "wandb_id.txt").read_text().strip()
    for run in (first, second):
        settings = {name: run.settings[name] for name in ("id", "resume", "project")}
        assert settings == {"id": run_id, "resume": "allow", "project": "test"}
        assert (run.settings["name"], run.settings["mode"]) == ("mine", "offline")
        assert run.settings["config"] == trainer.config.to_dict()
        assert run.told == ["sample_step", "finish"]
    steps = {"sample_step": 20, "learn_step": 9}
    assert first.logs[:2] == [
        {"train/loss": 5.5, "sample_step": 20, "learn_step": 10},
        {"collect/episode_return": 15.0, "collect/episodes": 2.0, **steps},
    ]
    steps = {"sample_step": 40, "learn_step": 19}
    said = {"evaluate/episode_return": 20.0, "evaluate/episodes": 2.0, **steps}
    assert said in second.logs


@pytest.mark.slow
def test_a_run_without_a_network(make_trainer):
    pytest.importorskip("wandb", reason="its runs need wandb")
    trainer = play(make_trainer)
    runs = [*(trainer.run.folder / "wandb").glob("offline-run-*/*.wandb")]
    run_id = (trainer.run.folder / "wandb_id.txt").read_text().strip()
    assert [file.name for file in runs] == [f"run-{run_id}.wandb"] * 2
    assert all(file.stat().st_size for file in runs)
