"""Resolve names of environments, and name environments."""

import difflib
import importlib
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from yieldrl.envs import atari
from yieldrl.foundations.named_code import import_named, is_function_of_user


def resolve(source: str) -> Any:
    """The class or function named `module:name`; other values are returned as ids.

    ValueError if it is something else than a maker of environments.
    """
    module, _, name = source.rpartition(":")
    if not module:
        return source
    try:
        found = import_named(module, name)
    except (AttributeError, ImportError):
        return source  # later rejected as an id, with the reason
    except ValueError as reason:
        raise ValueError(f"env_id = {source!r}: {reason}{_REMEDY}") from None
    is_class = isinstance(found, type) and issubclass(found, gym.Env | VectorEnv)
    if not (is_class or is_function_of_user(found)):
        raise ValueError(f"env_id = {source!r} is {found!r}{_REMEDY}")
    return found


_REMEDY = (
    ", which makes no environments: name a class derived from gymnasium.Env or"
    " gymnasium.vector.VectorEnv, or a function of your own that makes one"
)


def find_function(field: str, name: str, called_with: str) -> Any:
    """The function named `my_module:function` in a config field.

    ValueError if there is none.
    """
    module, _, attribute = name.partition(":")
    try:
        return import_named(module, attribute)
    except (AttributeError, ImportError, ValueError) as reason:
        raise ValueError(
            f"{field} = {name!r}: no such function ({reason}); name my_module:function,"
            f" which is called with {called_with}"
        ) from None


def find_spec(env_id: str) -> EnvSpec:
    """The registered spec of an id, `Name-v0` or `module:Name-v0`; ValueError if there
    is none, ImportError if a game needs ale-py."""
    module, _, name = env_id.rpartition(":")
    if name.startswith("ALE/"):
        atari.register(name)
    try:
        if module:
            importlib.import_module(module)
        return gym.spec(name)
    except (gym.error.Error, ImportError) as reason:
        near = difflib.get_close_matches(name, gym.registry, n=3, cutoff=0.5)
        raise ValueError(
            f"env_id = {env_id!r}: no such environment ({reason});"
            f" near names: {near or 'none'}. Register it, or pass a class as envs="
        ) from None


def class_of(env_id: str) -> Any:
    """The maker of environments of an id, or of `module:Class`; or ValueError."""
    source = resolve(env_id)
    if not isinstance(source, str):
        return source
    spec = find_spec(env_id)
    maker = spec.entry_point or spec.vector_entry_point
    return load_env_creator(maker) if isinstance(maker, str) else maker


def name_of(source: Any) -> str:
    """The name of a source's environments: its id, or the name of its class."""
    if isinstance(source, str):
        return source
    if isinstance(source, SyncVectorEnv | AsyncVectorEnv):
        source = source.get_attr("spec")[0] or source
    spec = source if isinstance(source, EnvSpec) else getattr(source, "spec", None)
    if isinstance(spec, EnvSpec):
        return spec.id
    return getattr(source, "__name__", type(source).__name__)
