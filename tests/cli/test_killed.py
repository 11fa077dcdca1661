"""Training that ends by `kill -9` goes on from its last checkpoint."""

import csv
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from yieldrl.cli import main
from yieldrl.loggers import list_checkpoints

WORDS = (
    *("--env-id", "yieldrl/CartPole-v1", "--num-envs", "64", "--run-name", "killed"),
    *("--checkpoint-every", "20000"),
)
QUICK = ("--num-epochs", "1", "--num-minibatches", "1")


@pytest.mark.slow
@pytest.mark.parametrize("where", [(), ("--collection", "ray")], ids=["here", "ray"])
def test_a_killed_run_goes_on(where):
    if where:
        pytest.importorskip("ray", reason="this run is on Ray")
    steps = ("--total-steps", "100000000", "--eval-every", "0")
    command = [sys.executable, "-m", "yieldrl", "train", "ppo", *WORDS, *QUICK, *steps]
    command += where
    run = Path("runs/killed")
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while not list_checkpoints(run):
                assert process.poll() is None, "it ended by itself"
                time.sleep(0.05)
            started = psutil.Process(process.pid).children(recursive=True)
            # Agents of Ray wait a minute for their dead node; they hold no memory.
            own = [each for each in started if "Agent" not in each.name()]
        finally:
            process.kill()
    assert len(own) >= (5 if where else 0)
    assert not psutil.wait_procs(own, timeout=600)[1]
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
