"""yieldrl as a new user runs it: the config of an algorithm, and a loop."""

import importlib
import time
from contextlib import closing, suppress
from typing import Any

import psutil

from .clock import Clock
from .contract import Side, Task, main

PACKAGES = ("yieldrl", "torch", "tensordict", "gymnasium", "numpy")

WATCHED_SECONDS = 5.0  # some more than the two for which `speed="auto"` looks at a run
COMPILER = "yieldrl.speed.warm_up"  # module that runs as the process which compiles
# after the compiler has ended: for training to load what it has made
QUIET_SECONDS = 1.0


class Settled:
    """Whether `speed="auto"` has decided and no compiler is at work any more; while one
    is, this waits, so that it is done soon."""

    def __init__(self) -> None:
        self._begin = self._looked = time.perf_counter()
        self._busy_until = self._begin

    def __call__(self) -> bool:
        """Look, five times a second at most."""
        now = time.perf_counter()
        watched = now - self._begin > WATCHED_SECONDS
        if now - self._looked > 0.2:
            self._looked = now
            while is_compiling():
                self._busy_until = time.perf_counter()
                if not watched:
                    break
                time.sleep(0.2)
        return watched and time.perf_counter() - self._busy_until > QUIET_SECONDS


def is_compiling() -> bool:
    """Whether the process that compiles is at work beside this one."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # as one is that has ended
            if COMPILER in child.cmdline():
                return True
    return False


def trains(algorithm: str, **beside: Any) -> Side:
    """The side of an algorithm's folder, with fields of its config that peers have
    otherwise.

    It answers the `decisions` on what to compile, and whether the code was `kept` by an
    earlier run; None if it had none.
    """

    def train(task: Task) -> dict[str, Any]:
        module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
        config = module.Config.from_dict(fields_of(task) | beside)
        with module.Trainer(config) as trainer:
            plan = trainer.algorithm.plan
            cache = importlib.import_module("yieldrl.foundations.compile_cache")
            known = cache.read_note(plan.kind)
            settled = Settled()
            clock = Clock(
                task,
                lambda: trainer.evaluate(task.episodes)["logs"]["episode_return"],
                settled if task.only_settle else lambda: True,
            )
            with closing(trainer()) as loop:
                for log in loop:
                    clock(log["sample_step"])
                    if clock.done:
                        break
            answer = clock.finish(trainer.agent.learn_step, PACKAGES)
            compiles = any(": compiled in " in said for said in plan.decisions)
            kept = bool(known) if compiles else None
            return answer | {"decisions": plan.decisions, "kept": kept}

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
