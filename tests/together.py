"""What `test_ranks.py` lets `torchrun` start twice: says in files what happened.

The command line comes first, so that it is what joins the two processes.
"""

import atexit
import copy
import os
import sys
from pathlib import Path
from unittest import mock

import differing
import torch

from yieldrl import cli, loggers
from yieldrl.algorithms import ppo
from yieldrl.core import ranks

COMMAND = (
    "train ppo --env-id yieldrl/CartPole-v1 --total-steps 2048 --num-steps 32"
    " --eval-every 1024 --run-name both"
)
SETTINGS = {"env_id": "yieldrl/CartPole-v1", "num_envs": 4, "num_steps": 16}
SETTINGS |= {"num_minibatches": 2, "total_steps": 1024, "eval_every": 512}
SETTINGS |= {"eval_episodes": 2, "normalize_observation": True}


def graphs(_):
    """Functions are traced and guarded as ever, but run as graphs, without new code."""
    return torch._dynamo.lookup_backend("aot_eager")


def floats(log):
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}


def one_step():
    """The first gradient step: what it was of, and what came of it."""
    with ppo.Trainer(ppo.Config(**SETTINGS)) as trainer:
        before = {k: v.clone() for k, v in trainer.model.state_dict().items()}
        for _ in trainer():
            if trainer.buffer.full:
                break
        rollout = trainer.buffer.rollout().clone()
        annotated = rollout.clone()
        passes, _ = copy.deepcopy(trainer.algorithm).begin(annotated)
        data = passes.minibatch().clone()
        for log in trainer():
            if log["log_type"] == "train":
                break
        state = trainer.algorithm.optimizer.state_dict()["state"]
        return {
            "before": before,
            "rollout": rollout,
            "data": data,
            "moments": [entry["exp_avg"] for entry in state.values()],
            "after": trainer.model.state_dict(),
            "log": floats(log),
        }


def a_run(**settings):
    """The logs of a whole run, which a logger of its own counts too, and its weights.

    It is left early by what a log says, which must be the same everywhere.
    """
    with ppo.Trainer(ppo.Config(**SETTINGS | settings)) as trainer:
        watched = loggers.early_stop("sample_step", threshold=1e9, log_type="collect")
        logs = [floats(log) for log in watched(trainer)()]
        return {"logs": logs, "after": trainer.model.state_dict()}


def note_what_is_left(path):
    """Write down the names of Gloo's threads; Linux alone tells them."""
    tasks = Path("/proc/self/task").glob("*/comm")
    names = [task.read_text().strip() for task in tasks]
    path.write_text("\n".join(name for name in names if "gloo" in name))


def main(folder):
    # Called after what is registered later: when the group should have ended.
    atexit.register(note_what_is_left, folder / f"{os.environ['RANK']}.left")
    cli.main(COMMAND.split())
    torch.set_num_threads(1)
    found = {"rank": ranks().rank, "step": one_step(), "run": a_run()}
    with mock.patch("yieldrl.core.compiled.lookup_backend", graphs):
        found["compiled"] = a_run(compile=True)
    torch.save(found, folder / f"{ranks().rank}.pt")
    differing.main(folder / "differing")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
