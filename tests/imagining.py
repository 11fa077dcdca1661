"""Small runs of algorithms with a model of the world, and what is read of them."""

import pytest

pytest.importorskip(
    "transformers", reason="its model is made by the packages of yieldrl[vla]"
)

TINY = {
    "env_kwargs": {"height": 2, "width": 2, "num_objects": 1, "max_episode_steps": 3}
}
TINY |= {"model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}}
TINY |= {"num_envs": 8, "num_steps": 4, "num_epochs": 1, "num_minibatches": 2}
TINY |= {"demonstration_steps": 0, "horizon": 3, "num_branches": 8, "refreshes": 2}
TINY |= {"model_warmup_steps": 2, "model_steps": 1, "model_batch_size": 16}
TINY |= {"total_steps": 96, "eval_every": 0, "device": "cpu"}


def until_learning(run):
    """The data of the first minibatches."""
    next(log for log in run() if log["log_type"] == "train")
    return run.buffer.minibatches.data


def imagined(own, count=None):
    """A segment from real states on, of all of an algorithm's starts or the first."""
    asked = own.config.horizon, own.drawing("imagined"), own.past.model_steps
    return own.imagine(own.starts()[:count], *asked)


def numbers(log):
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}
