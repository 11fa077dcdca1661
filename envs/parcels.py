"""Makers of environments, and errors, packed for another process."""

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import gymnasium as gym
import torch
from gymnasium.envs.registration import EnvSpec, load_env_creator

from yieldrl.foundations import derive_seed, seed_everything

UNSENT_ERRORS = (pickle.PicklingError, AttributeError, TypeError)
"""What pickling raises where an object cannot be sent."""

Make = Callable[[], gym.Env]


def pack(make: Make) -> bytes:
    """A function in bytes, with all that it needs of the program that runs, its
    registered environments among it: the process never runs the program again."""
    try:
        return cloudpickle.dumps((make, _registered()))
    except Exception as reason:  # whatever an object raises that refuses
        raise TypeError(
            f"what makes the environments cannot be sent to a process of their own"
            f" ({type(reason).__name__}: {reason}): open connections, files, locks and"
            " simulators inside of the function or the environment's constructor, or"
            " set vectorization='sync'"
        ) from reason


class Parcel:
    """Makes environment `index` of a batch: by `make` where that is, and in another
    process by `packed`, what `pack` makes of it. Each process draws other random
    numbers."""

    def __init__(self, make: Make, packed: bytes, index: int, seed: int) -> None:
        self.make: Make | None = make
        self.packed, self.index, self.seed = packed, index, seed

    def __getstate__(self) -> dict[str, Any]:
        surroundings = dict(os.environ), torch.get_default_dtype()
        return {**vars(self), "make": None, "surroundings": surroundings}

    def __call__(self) -> gym.Env:
        if self.make is not None:
            return self.make()
        environ, dtype = vars(self)["surroundings"]
        os.environ.update(environ)
        # Processes share the cores: more threads would be in each other's way.
        torch.set_num_threads(1)
        torch.set_default_dtype(dtype)
        make, specs = pickle.loads(self.packed)
        gym.registry.update(specs)
        seed_everything(derive_seed(self.seed, f"worker {self.index}"))
        return make()


def portable(spec: EnvSpec) -> EnvSpec:
    """A spec that works in every process: what the program itself defines is put in."""
    place = spec.entry_point
    if not (isinstance(place, str) and place.startswith("__main__:")):
        return spec
    filled: Any = copy.copy(spec)
    filled.entry_point = load_env_creator(place)
    return filled


def _registered() -> dict[str, EnvSpec]:
    """Registered environments that can be sent, by their ids."""
    specs: dict[str, EnvSpec] = {}
    for name, spec in gym.registry.items():
        try:
            specs[name] = portable(spec)
            if not isinstance(specs[name].entry_point, str | None):
                cloudpickle.dumps(specs[name])
        except Exception:  # another one than that which is made, or it will be said
            specs.pop(name, None)
    return specs


def sendable_error(error: Exception) -> tuple[type[Exception], str]:
    """The class of an error, or one of Python's own where another process does not know
    it, and the text to make it of."""
    kind, alone = type(error), len(error.args) == 1 and isinstance(error.args[0], str)
    text = error.args[0] if alone else str(error)
    try:
        if pickle.loads(pickle.dumps(kind))(text).args == (text,):
            return kind, text
    except Exception:  # whatever its constructor raises
        pass
    kinds = (k for k in (ValueError, TypeError) if issubclass(kind, k))
    return next(kinds, RuntimeError), f"{kind.__name__}: {error}"
