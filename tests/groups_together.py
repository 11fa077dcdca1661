"""What `test_grpo_parts.py` lets `torchrun` start twice: writes what happened."""

import functools
import importlib
import sys
from pathlib import Path

import torch

from yieldrl.algorithms.rollouts import evaluate_rollout
from yieldrl.core import ranks
from yieldrl.language import policy_for

NAMES = ("grpo", "rloo", "reinforce_pp", "dr_grpo", "dapo", "gspo")
SETTINGS = {"env_kwargs": {"max_operand": 1}, "num_envs": 8, "group_size": 4}
SETTINGS |= {"num_epochs": 1, "num_minibatches": 1, "demonstration_steps": 0}
SETTINGS |= {"total_steps": 256, "eval_every": 0, "device": "cpu"}
CLONING = {"demonstration_steps": 64, "clone_steps": 4, "clone_batch_size": 16}
CLONING |= {"clone_warmup_steps": 0, "total_steps": 128}
SMALL = functools.partial(policy_for, d_model=16, num_layers=1, num_heads=2)


def trainer_of(name, model=SMALL, **options):
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    return module.Trainer(module.Config(**SETTINGS | options), model=model)


def floats(log):
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}


def one_step(name):
    """A gradient step on a rollout; the second process has one group that differs, or
    for `rloo` none, and the first has two."""
    with trainer_of(name) as trainer:
        before = {k: v.clone() for k, v in trainer.model.state_dict().items()}
        for _ in trainer():
            if trainer.buffer.full:
                break
        rollout = trainer.buffer.rollout().clone()
        evaluate_rollout(trainer.algorithm, rollout)
        reward = torch.tensor([[0.0, 1, 0, 0, 1, 1, 0, 1]])
        rollout["reward"] = reward if ranks().first else reward.clone()
        if not ranks().first:
            rollout["reward"][:, : 8 if name == "rloo" else 4] = 1.0
        logs = trainer.update(rollout.clone())
        return {
            "before": before,
            "rollout": rollout,
            "after": trainer.model.state_dict(),
            "logs": {k: float(v) for k, v in logs.items()},
        }


def a_run():
    """Of dynamic sampling, where some poles fall before an episode's end."""
    options = {"env_id": "yieldrl/CartPole-v1", "num_steps": 16, "num_minibatches": 2}
    options |= {"env_kwargs": {"max_episode_steps": 16}, "total_steps": 4096}
    with trainer_of("dapo", model=None, **options) as trainer:
        logs = [floats(log) for log in trainer() if log["log_type"] == "train"]
        return {"logs": logs, "after": trainer.model.state_dict()}


def a_clone():
    """Cloning of an expert's sums, its first gradient step, and groups from there."""
    with trainer_of("grpo", **CLONING) as trainer:
        cloning, found = trainer.cloning, {}
        found["before"] = {k: v.clone() for k, v in trainer.model.state_dict().items()}
        for log in cloning():
            if log["learn_step"] == 1:
                weights = trainer.model.state_dict().items()
                found["stepped"] = {k: v.clone() for k, v in weights}
                break
        size = cloning.config.batch_size
        found["data"] = cloning.buffer.windows.minibatch(0, size, values=False)
        found["count"] = len(cloning.buffer), trainer.agent.sample_step
        found["logs"] = [floats(log) for log in trainer()]
        return {**found, "after": trainer.model.state_dict()}


def close(one, other, tolerance):
    """Whether two sets of weights are the same, to a relative tolerance."""
    pairs = ((one[name], other[name]) for name in one)
    return all(torch.allclose(x, y, rtol=tolerance, atol=tolerance) for x, y in pairs)


def main(folder):
    found = {name: one_step(name) for name in NAMES} | {"run": a_run()}
    found["clone"] = a_clone()
    torch.save(found, Path(folder) / f"{ranks().rank}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1])
