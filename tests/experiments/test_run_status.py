"""What a run's folder says of how it stands."""

import json
from types import SimpleNamespace

import pytest

from yieldrl.algorithms import ppo
from yieldrl.experiments import run_files, run_status


class Collector:
    """Of two workers, of which one was started again."""

    def statistics(self, seconds):
        found = {"steps": {0: 1200, 1: 34}, "episodes": {0: 5.0}}
        return {**found, "lives": [0, 2], "lost_segments": 3}


class OnRay:
    """As much of a trainer as is looked at."""

    def __init__(self, folder):
        self.run = SimpleNamespace(folder=folder, claim=lambda: folder)
        self.config = SimpleNamespace(collection="ray", total_steps=4000)
        self.agent = SimpleNamespace(sample_step=0, learn_step=0)
        self.collector = Collector()

    def __call__(self):
        for lag in (0.0, 0.5):
            self.agent.sample_step += 1000
            logs = {"policy_lag": lag, "inference_batch": 8.0}
            yield {"log_type": "collect", "logs": logs}
            yield {"log_type": "train", "logs": {"loss": 1.0}}


@pytest.fixture
def trainer(tmp_path):
    """Of a run that is described in its folder."""
    config = ppo.Config(run_root=str(tmp_path), run_name="run", total_steps=4000)
    with ppo.Trainer(config) as own:
        run_files.describe(own)
        yield OnRay(own.run.folder)


def test_on_ray_it_is_written_while_the_run_goes_on(trainer, monkeypatch):
    monkeypatch.setattr(run_status, "EVERY_SECONDS", 0.0)
    path, seen = trainer.run.folder / "cluster.json", []
    trainer.config.collection = "sync"
    assert len(list(run_status.noting(trainer, trainer()))) == 4
    assert not path.exists()  # which is Ray's
    trainer.config.collection, trainer.agent.sample_step = "ray", 0
    for _ in run_status.noting(trainer, trainer()):
        facts = json.loads(path.read_text())
        seen.append((facts["sample_step"], facts["logs"]["policy_lag"]))
    assert seen == [(1000, 0.0), (1000, 0.0), (2000, 0.5), (2000, 0.5)]
    assert facts["steps"] == {"0": 1200, "1": 34}


def test_it_says_who_works_and_what_waits(trainer):
    loop = run_status.noting(trainer, trainer())
    next(loop)
    loop.close()
    first, *lines = run_status.status(trainer.run.folder).splitlines()
    assert first.startswith("ppo on CartPole-v1: running, process ")
    assert lines == [
        "steps: 1,000 of 4,000",
        "on Ray, 0 s ago:",
        "  worker     steps  episodes  lives",
        "       0     1,200         5      1",
        "       1        34         0      3",
        "  lost_segments    3",
        "  policy_lag       0",
        "  inference_batch  8",
    ]


@pytest.mark.filterwarnings("ignore:cluster.json lacks something")
@pytest.mark.parametrize("missing", ["statistics", "folder"])
def test_a_status_that_cannot_be_had_hides_no_error_of_the_run(
    trainer, missing, monkeypatch
):
    """And what can be had is written."""

    def fails(*_, **__):
        raise TimeoutError("an inference actor has not answered for 60 s")

    def run():
        yield {"log_type": "collect", "logs": {"policy_lag": 0.5}}
        raise ArithmeticError("the loss is not finite")

    own = {
        "statistics": (trainer.collector, "statistics"),
        "folder": (trainer.run, "claim"),
    }
    monkeypatch.setattr(*own[missing], fails)
    with pytest.raises(ArithmeticError, match="not finite"):
        list(run_status.noting(trainer, run()))
    said = run_status.status(trainer.run.folder)
    assert ("policy_lag" in said) == (missing == "statistics")
