"""yieldrl as a new user runs it: the config of an algorithm, and a loop."""

import importlib
from contextlib import closing
from functools import partial
from typing import Any

from .clock import Clock
from .contract import Task, main

PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy")


def train(algorithm: str, task: Task, **beside: Any) -> dict[str, Any]:
    """An algorithm, with fields of its config that peers have otherwise."""
    module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
    fields = {**task.settings, **beside, "compile": task.compiled, "device": "cpu"}
    fields |= {"threads": task.threads, "total_steps": task.planned, "eval_every": 0}
    if explored := fields.pop("exploration_steps", None):
        fields["exploration_fraction"] = explored / task.planned
    config = module.Config.from_dict({**fields, "seed": task.seed})
    with module.Trainer(config) as trainer:
        clock = Clock(
            task, lambda: trainer.evaluate(task.episodes)["logs"]["episode_return"]
        )
        with closing(trainer()) as loop:
            for log in loop:
                clock(log["sample_step"])
                if clock.done:
                    break
        return clock.finish(trainer.agent.learn_step, PACKAGES)


ppo, dqn, sac = (partial(train, name) for name in ("ppo", "dqn", "sac"))
many = partial(ppo, env_id="yieldrl/CartPole-v1")

if __name__ == "__main__":
    main({"W1": ppo, "W2": many, "W3": ppo, "W4": dqn, "W5": sac, "short": ppo})
