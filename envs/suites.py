"""Suites of tasks: several environments in which a policy is evaluated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yieldrl.envs.names import class_of
from yieldrl.foundations.files import SUFFIXES, read_file

Tasks = dict[str, dict[str, Any]]
"""Name of a task -> its `env_kwargs`."""


def find_suite(name: str, env_id: str) -> Tasks:
    """The tasks of a suite, each as `env_kwargs`.

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
    else:
        tasks_of_suite = getattr(class_of(env_id), "tasks_of_suite", None)
        if tasks_of_suite is None:
            raise ValueError(
                f"suite = {name!r}: {env_id} has no suites of its own; name a file of"
                " tasks and their env_kwargs, for example crowds.yaml with the lines"
                " few: {num_objects: 2} and many: {num_objects: 6}"
            )
        tasks = tasks_of_suite(name)
    wrong = "" if tasks else "it has no task"
    for task, kwargs in tasks.items():
        if not isinstance(kwargs, Mapping):
            wrong = f"task {task!r} is {kwargs!r}, and must be the task's env_kwargs"
    if wrong:
        raise ValueError(f"suite = {name!r}: {wrong}")
    return {str(task): dict(kwargs) for task, kwargs in tasks.items()}
