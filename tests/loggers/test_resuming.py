"""After any kill, the log files of a resumed run equal those of an unbroken one."""

import contextlib
import dataclasses
import json
import math
import shutil
from types import SimpleNamespace

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from yieldrl import loggers
from yieldrl.abstractions import Trainer
from yieldrl.experiments import Config, Run
from yieldrl.loggers import latest_checkpoint
from yieldrl.loggers.files import WriteError

CONFIG = Config(total_steps=26, eval_every=6, run_name="run")


class Counting:
    """Collects 2 steps, learns once; evaluates; numbers that do not add up exactly."""

    config_class = Config
    load = classmethod(Trainer.load.__func__)
    save = Trainer.save

    def __init__(self, config):
        self.config, self.run = config, Run("counting", config)
        self.agent = SimpleNamespace(sample_step=0, learn_step=0, device="cpu")
        self.evaluated_at = 0
        self.before_step = lambda: None

    def __call__(self):
        agent, every = self.agent, self.config.eval_every
        while True:
            self.before_step()
            step = agent.sample_step
            if agent.learn_step < step // 2:
                agent.learn_step += 1
                loss = torch.tensor(math.sin(agent.learn_step))
                yield self.log("train", {"loss": loss})
            elif every and step // every > self.evaluated_at // every:
                self.evaluated_at = step
                yield self.evaluate()
            elif step < self.config.total_steps:
                agent.sample_step += 2
                logs = {"episode_return": torch.tensor(step / 7), "episodes": 1 + step}
                yield self.log("collect", logs if step % 3 else {})
            else:
                return

    def evaluate(self, *_):
        return self.log(
            "evaluate", {"episode_return": math.cos(self.agent.sample_step)}
        )

    def log(self, kind, logs):
        steps = {name: vars(self.agent)[name] for name in ("sample_step", "learn_step")}
        return {"log_type": kind, "logs": logs, **steps}

    def state_dict(self):
        return {"agent": vars(self.agent), "evaluated_at": self.evaluated_at}

    def load_state_dict(self, state):
        self.agent = SimpleNamespace(**state["agent"])
        self.evaluated_at = state["evaluated_at"]


def saving(trainer):
    return loggers.checkpoint(every=5)(trainer)


def writing(trainer):
    for logger in (loggers.csv, loggers.jsonl, loggers.tensorboard):
        trainer = logger(every=7)(trainer)
    return trainer


def saving_inside(trainer):
    return writing(saving(trainer))


def points(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def logs_of(run):
    return {name: (run / name).read_text() for name in ("logs.csv", "logs.jsonl")}


def check_same(run, unbroken):
    assert logs_of(run) == logs_of(unbroken)
    assert points(run / "tensorboard") == points(unbroken / "tensorboard")


@pytest.fixture
def unbroken(tmp_path, monkeypatch):
    """The folder of a run that nothing disturbed."""
    monkeypatch.chdir(tmp_path)
    trainer = Counting(dataclasses.replace(CONFIG, run_root="unbroken"))
    list(writing(trainer)())
    return trainer.run.folder


@pytest.mark.parametrize("stack", [saving_inside, lambda one: saving(writing(one))])
def test_killed_at_any_moment(stack, unbroken, tmp_path):
    trainer = Counting(CONFIG)
    snapshots = []

    def kill():  # what it would leave: the folder as it is
        snapshots.append(tmp_path / "killed" / str(len(snapshots)))
        if trainer.run.folder.exists():
            shutil.copytree(trainer.run.folder, snapshots[-1])

    trainer.before_step = kill  # just after a checkpoint
    for _ in stack(trainer)():
        kill()  # before one that is due
    assert logs_of(trainer.run.folder) == logs_of(unbroken)
    assert len(snapshots) > 60
    for snapshot in snapshots[1::6]:
        if not (snapshot / "checkpoints" / "checkpoints.json").exists():
            continue
        resumed = Counting.load(latest_checkpoint(snapshot))
        assert resumed.run.folder == snapshot
        list(stack(resumed)())
        assert logs_of(snapshot) == logs_of(unbroken), snapshot.name
    # Reading events is slow: one that was killed in the middle stands for all.
    assert points(snapshots[37] / "tensorboard") == points(unbroken / "tensorboard")


def test_left_at_any_log_and_gone_on_with(unbroken):
    trainer = Counting(CONFIG)
    stack = saving_inside(trainer)
    while any(index == 2 for index, _ in enumerate(stack())):
        pass
    check_same(trainer.run.folder, unbroken)


def test_an_older_checkpoint_than_the_last(unbroken):
    trainer = Counting(CONFIG)
    list(saving_inside(trainer)())
    trainer.run.close()
    oldest = loggers.list_checkpoints(trainer.run.folder)[-1]
    resumed = Counting.load(oldest)
    assert 0 < resumed.agent.sample_step < 26
    list(saving_inside(resumed)())
    check_same(resumed.run.folder, unbroken)


def test_a_full_disk_is_named_and_nothing_is_lost(unbroken, small_disk):
    trainer = Counting(CONFIG)
    stack = writing(trainer)  # no checkpoints, which are larger than the logs
    _ = trainer.run.claim()
    with pytest.raises(WriteError) as caught, small_disk(500):
        list(stack())
    names = ("logs.csv", "logs.jsonl", "tensorboard")
    assert any(f"{trainer.run.folder}/{name}" in str(caught.value) for name in names)
    assert "could not be written (File too large)" in str(caught.value)
    list(stack())  # there is room again
    check_same(trainer.run.folder, unbroken)


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, small_disk):
    trainer = Counting(Config(total_steps=30, eval_every=0, run_root=str(tmp_path)))
    stack = saving(trainer)

    def train():
        with contextlib.ExitStack() as disk:
            for log in stack():
                if log["sample_step"] == 10:
                    disk.enter_context(small_disk(1000))

    with pytest.raises(WriteError, match=r"step_000000010\.pt: could not be written"):
        train()
    newest = latest_checkpoint(trainer.run.folder)
    assert newest.name == "step_000000006.pt"
    assert Counting.load(newest).agent.sample_step == 6
    list(stack())
    assert latest_checkpoint(trainer.run.folder).name == "step_000000030.pt"
    assert not list(newest.parent.glob(".*"))
    index = json.loads((newest.parent / "checkpoints.json").read_text())
    assert index["saved"] == [f"step_{step:09d}.pt" for step in (20, 26, 30)]
