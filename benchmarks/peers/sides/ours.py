"""yieldrl as a new user runs it: the config of an algorithm, and a loop."""

from contextlib import closing
from typing import Any

from yieldrl.algorithms import ppo

from .clock import Clock
from .contract import Task, main

PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy")


def train(task: Task, **beside: Any) -> dict[str, Any]:
    """PPO, with fields of its config that peers have otherwise."""
    fields = {"threads": task.threads, "total_steps": task.planned, "seed": task.seed}
    fields |= {"device": "cpu", "eval_every": 0, "compile": task.compiled}
    config = ppo.Config.from_dict({**task.settings, **beside, **fields})
    with ppo.Trainer(config) as trainer:
        clock = Clock(
            task, lambda: trainer.evaluate(task.episodes)["logs"]["episode_return"]
        )
        with closing(trainer()) as loop:
            for log in loop:
                clock(log["sample_step"])
                if clock.done:
                    break
        return clock.finish(trainer.agent.learn_step, PACKAGES)


def many(task: Task) -> dict[str, Any]:
    return train(task, env_id="yieldrl/CartPole-v1")


if __name__ == "__main__":
    main({"W1": train, "W2": many, "short": train})
