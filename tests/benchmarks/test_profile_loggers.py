"""A loop over nothing: its logs are those of a training, and each logger sees them."""

import csv

import pytest

from yieldrl import loggers
from yieldrl.algorithms import ppo
from yieldrl.benchmarks.claims.time import profile_loggers
from yieldrl.benchmarks.registry import CLAIMS


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(profile_loggers, "ROLLOUTS", 2)
    monkeypatch.setattr(profile_loggers, "ROUNDS", 1)


def test_it_yields_the_logs_of_so_many_rollouts(tmp_path):
    config = ppo.Config(total_steps=1024, run_root=str(tmp_path), eval_every=0)
    with profile_loggers.Idle(config) as trainer:
        kinds = [log["log_type"] for log in loggers.csv()(trainer)()]
        with (trainer.run_dir / "logs.csv").open() as file:
            written = {row["log_type"] for row in csv.DictReader(file)}
    one = ["collect"] * profile_loggers.STEPS + ["train"] * profile_loggers.UPDATES
    assert kinds == 2 * one
    assert trainer.agent.sample_step == 1024
    assert written == {"collect", "train"}


def test_every_logger_is_timed():
    found = profile_loggers.take_turns(1)
    assert found.pop("seed") == 1
    assert list(found) == list(profile_loggers.LOGGERS)
    assert all(value > 0 for value in found.values())
    header, rows = CLAIMS["time"]["loggers"].table([found])
    assert [len(row) for row in rows] == [len(header)] * len(profile_loggers.LOGGERS)
    assert rows[0][2] == "0.00"
