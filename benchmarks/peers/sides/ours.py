"""yieldrl as a new user runs it: the config of an algorithm, and a loop."""

import importlib
from contextlib import closing
from typing import Any

from .clock import Clock
from .contract import Side, Task, main

PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy")


def trains(algorithm: str, **beside: Any) -> Side:
    """The side of an algorithm's folder, with fields of its config that peers have
    otherwise.
    """

    def train(task: Task) -> dict[str, Any]:
        module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
        fields = fields_of(task) | beside | {"compile": task.compiled}
        config = module.Config.from_dict(fields)
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

    return train


def fields_of(task: Task) -> dict[str, Any]:
    """The config's fields that the task decides."""
    fields = dict(task.settings)
    explored = fields.pop("exploration_steps", None)
    if explored is not None:
        fields["exploration_fraction"] = explored / task.planned
    return fields | {
        "threads": task.threads,
        "total_steps": task.planned,
        "seed": task.seed,
        "device": "cpu",
        "eval_every": 0,
    }


SIDES = {
    "W1": trains("ppo"),
    "W2": trains("ppo", env_id="yieldrl/CartPole-v1"),
    "W3": trains("ppo"),
    "W4": trains("dqn"),
    "W5": trains("sac"),
    "short": trains("ppo"),
}

if __name__ == "__main__":
    main(SIDES)
