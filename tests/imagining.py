"""Small runs of algorithms with a model of the world, and what is read of them."""

from typing import Any

import pytest
from tensordict import TensorDict

pytest.importorskip(
    "transformers", reason="its model is made by the packages of yieldrl[vla]"
)

TINY: dict[str, Any] = {
    "env_kwargs": {"height": 2, "width": 2, "num_objects": 1, "max_episode_steps": 3},
    "model_config": {"width": 16, "layers": 1, "heads": 2, "vision_width": 8},
    "num_envs": 8,
    "num_steps": 4,
    "num_epochs": 1,
    "num_minibatches": 2,
    "demonstration_steps": 0,
    "horizon": 3,
    "num_branches": 8,
    "refreshes": 2,
    "model_warmup_steps": 2,
    "model_steps": 1,
    "model_batch_size": 16,
    "total_steps": 96,
    "eval_every": 0,
    "device": "cpu",
}


def until_learning(run: Any) -> TensorDict:
    """The pieces of the first minibatches."""
    for log in run():
        if log["log_type"] == "train":
            break
    return run.buffer.passes.pieces


def imagined(own: Any, count: int | None = None) -> TensorDict:
    """A segment from real states on, of all of an algorithm's starts or the first."""
    asked = own.config.horizon, own.drawing("imagined"), int(own.world.version)
    return own.imagine(own.starts()[:count], *asked)


def numbers(log: Any) -> Any:
    return {**log, "logs": {k: float(v) for k, v in log["logs"].items()}}
