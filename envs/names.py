"""Look up names of environments, wrappers, functions and suites."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import VectorEnv

from yieldrl.core.files import SUFFIXES, read_file
from yieldrl.core.named_code import import_named, is_function_of_user
from yieldrl.envs.autoreset import ASSEMBLED

Wrap = Callable[[gym.Env], gym.Env]

EXTRAS = {"ale_py": "atari"} | dict.fromkeys(
    ["gym_aloha", "gym_pusht", "gymnasium_robotics", "metaworld"], "robots"
)
"""Package of environments -> the extra that has it."""

Tasks = dict[str, dict[str, Any]]
"""Name of a task -> its `env_kwargs`."""


def resolve(source: str) -> Any:
    """The class or function named `module:name`; other values are returned as ids.

    ValueError if it is something else than a maker of environments.
    """
    module, _, name = source.rpartition(":")
    if not module:
        return source
    try:
        maker = import_named(module, name)
    except (AttributeError, ImportError):
        return source  # later rejected as an id, with the reason
    except ValueError as reason:
        maker = reason
    is_class = isinstance(maker, type) and issubclass(maker, gym.Env | VectorEnv)
    if is_class or is_function_of_user(maker):
        return maker
    raise ValueError(
        f"env_id = {source!r}: {maker} makes no environments; name a class derived from"
        " gymnasium.Env or gymnasium.vector.VectorEnv, or a function of your own that"
        " makes one"
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
            f"{field} = {name!r}: no such function ({reason}); name"
            f" my_module:function, which is called with {called_with}"
        ) from None


def find_spec(env_id: str) -> EnvSpec:
    """The registered spec of an id, `Name-v0` or `module:Name-v0`; ValueError if there
    is none, ImportError if its package is an extra that is not installed."""
    module, _, name = env_id.rpartition(":")
    package = "ale_py" if name.startswith("ALE/") else module or name.partition("/")[0]
    if package in EXTRAS:
        if importlib.util.find_spec(package) is None:
            needs = f"{env_id} needs {package.replace('_', '-')}"
            raise ImportError(f"{needs}: pip install 'yieldrl[{EXTRAS[package]}]'")
        module = package
    try:
        if module:
            importlib.import_module(module)
        return gym.spec(name)
    except (gym.error.Error, ImportError) as reason:
        raise ValueError(
            f"env_id = {env_id!r}: no such environment ({reason}): register it, or pass"
            " a class as envs="
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
    if isinstance(source, ASSEMBLED):
        source = source.get_attr("spec")[0] or source
    spec = source if isinstance(source, EnvSpec) else getattr(source, "spec", None)
    if isinstance(spec, EnvSpec):
        return spec.id
    return getattr(source, "__name__", type(source).__name__)


def find_wrappers(names: Sequence[str]) -> list[Wrap]:
    """The wrappers of single environments named `module:Class`; ValueError if one is
    missing, or goes around batches."""
    wrappers = []
    for name in names:
        wrap = find_function("wrappers", name, "an environment, or a wrapper's class")
        is_class = isinstance(wrap, type) and issubclass(wrap, gym.Wrapper)
        if not (is_class or is_function_of_user(wrap)):
            raise ValueError(
                f"wrappers: {name!r} is {wrap!r}: name a gymnasium.Wrapper, or a"
                " function of your own that returns an environment; a wrapper that goes"
                " around a whole batch is put there, and both passed as envs="
            )
        wrappers.append(wrap)
    return wrappers


def find_suite(name: str, env_id: str) -> Tasks:
    """The tasks of a suite: several environments in which a policy is evaluated.

    Args:
        name: A file (JSON, YAML or TOML) of tasks, or a suite of the environment's
            class: its `tasks_of_suite(name)` returns them.
        env_id: Id, or `module:Class`, of the environment.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If there is no such suite, or no task in it.

    Example:
        A file of two tasks of `yieldrl/GoTo-v1`, `crowds.yaml`:
        ```yaml
        few: {num_objects: 2}
        many: {num_objects: 6}
        ```
    """
    if Path(name).suffix in SUFFIXES:
        tasks: Mapping[str, Any] = read_file(name)
    elif hasattr(maker := class_of(env_id), "tasks_of_suite"):
        tasks = maker.tasks_of_suite(name)
    else:
        raise ValueError(
            f"suite = {name!r}: {env_id} has no suites of its own; name a file of tasks"
            " and their env_kwargs, for example crowds.yaml with the lines few:"
            " {num_objects: 2} and many: {num_objects: 6}"
        )
    return {str(task): dict(kwargs) for task, kwargs in tasks.items()}
