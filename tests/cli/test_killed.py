"""Training that ends by `kill -9` goes on from its last checkpoint."""

import csv
import subprocess
import sys
import time
from pathlib import Path

import pytest

from yieldrl.cli import main
from yieldrl.loggers import list_checkpoints

WORDS = (
    *("--env-id", "yieldrl/CartPole-v1", "--num-envs", "64", "--run-name", "killed"),
    *("--checkpoint-every", "20000"),
)
QUICK = ("--num-epochs", "1", "--num-minibatches", "1")


@pytest.mark.slow
def test_a_killed_run_goes_on() -> None:
    steps = ("--total-steps", "100000000", "--eval-every", "0")
    command = [sys.executable, "-m", "yieldrl", "train", "ppo", *WORDS, *QUICK, *steps]
    run = Path("runs/killed")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 240
            while not list_checkpoints(run):
                assert process.poll() is None, "it ended by itself"
                assert time.monotonic() < deadline, "no checkpoint in time"
                time.sleep(0.05)
            time.sleep(0.5)
        finally:
            process.kill()
    newest = list_checkpoints(run)[0]
    reached = int(newest.stem.removeprefix("step_"))
    main(["resume", str(run), "--total-steps", str(reached + 1)])
    after = int(list_checkpoints(run)[0].stem.removeprefix("step_"))
    assert after > reached
    with (run / "logs.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = [(r["log_type"], r["sample_step"], r["metric"]) for r in rows]
    assert len(keys) == len(set(keys)), "steps that were taken twice are logged once"
    assert max(int(row["sample_step"]) for row in rows) == after
