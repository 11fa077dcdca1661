"""Recipes by which other processes make environments, agents and learners."""

import faulthandler
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import cloudpickle
from gymnasium.vector import VectorEnv

from yieldrl import envs as environments
from yieldrl.core import Config, derive_seed, seed_everything


@dataclass
class EnvRecipe:
    """A recipe for the environments of a worker."""

    source: Any  # the argument of `yieldrl.envs.make`
    config: Config  # with the number of environments of one worker, on the CPU
    trainer_class: Any  # its `wrap_envs` wraps them
    index: int = 0  # the worker's number
    life: int = 0  # how many workers of this number there were before

    @property
    def seed(self) -> int:
        """The seed; the first worker has that of a run without workers."""
        if self.index == self.life == 0:
            return self.config.seed
        purpose = f"rollout worker {self.index}, {self.life}"
        return derive_seed(self.config.seed, purpose)

    def make(self) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped, in a process of their own, which they may end."""
        seed_everything(self.seed)
        return never_hanging(self.make_here, self.config.env_timeout)

    def make_here(self) -> VectorEnv[Any, Any, Any]:
        """The environments, wrapped; global generators stay as they are."""
        made = environments.make(self.source, self.config)
        return wrapped(made, self.config, self.trainer_class, training=True)


@dataclass
class Recipe:
    """A recipe for an algorithm, or for an agent that acts with it."""

    algorithm_class: Any  # called with a model and a config
    model: Any  # on the CPU
    config: Config  # of one process
    agent_class: Any = None  # called with an algorithm and a config

    @classmethod
    def of(cls, algorithm: Any, config: Config) -> Self:
        """The recipe of an algorithm, with its current weights."""
        return cls(type(algorithm), deepcopy(algorithm.model).to("cpu"), config)

    @classmethod
    def of_agent(cls, agent: Any, config: Config) -> Self:
        """The recipe of an agent, with its current weights."""
        return replace(cls.of(agent.algorithm, config), agent_class=type(agent))

    def make(self, **changes: Any) -> Any:
        """The algorithm, with changes of its config; or an agent that explores, and
        adds entries such as `log_prob` to actions."""
        config = replace(self.config, **changes)
        algorithm = self.algorithm_class(self.model, config)
        if self.agent_class is None:
            return algorithm
        return self.agent_class(algorithm, config).actor()


def wrapped(
    envs: Any, config: Config, trainer_class: Any, *, training: bool = False
) -> VectorEnv[Any, Any, Any]:
    """Environments as a trainer of this class wraps them, for training or not."""
    trainer: Any = object.__new__(trainer_class)
    trainer.config = config  # `wrap_envs` may read it
    return trainer.wrap_envs(envs, training)


def never_hanging(make: Any, seconds: float) -> VectorEnv[Any, Any, Any]:
    """Environments that end this process if they take longer for anything.

    Ray's log of the process then says where they were. No thread of Python would tell:
    they may hang while they hold its lock.

    Args:
        make: Makes them.
        seconds: How long they may take: to be made, for a reset, for a step.
    """
    with _ending_after(seconds):
        envs = make()
    for name in ("reset", "step"):
        setattr(envs, name, _ending_after(seconds)(getattr(envs, name)))
    return envs


@contextmanager
def _ending_after(seconds: float) -> Iterator[None]:
    """This process ends if it is in this context for longer."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def pickled(value: Any) -> bytes:
    """Pickle a value with the code of all modules that no worker could import.

    These are the program itself, and modules that are not installed, such as the copied
    folder of an algorithm.
    """
    places = {sys.prefix, *sysconfig.get_paths().values()}
    places |= {place for place in sys.path if place.endswith("-packages")}
    installed = tuple(os.path.join(place, "") for place in places)
    modules = [*sys.modules.values()]  # a module may have several names
    users = {m.__name__: m for m in modules if _is_users(m, installed)}
    for module in users.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(value)
    finally:
        for module in users.values():
            cloudpickle.unregister_pickle_by_value(module)


def _is_users(module: Any, installed: tuple[str, ...]) -> bool:
    """Whether a module is a file of the user's, in none of these folders."""
    name, file = getattr(module, "__name__", ""), getattr(module, "__file__", None)
    if file is None or name.partition(".")[0] in ("yieldrl", "__main__"):
        return False
    return not str(file).startswith(installed)
