"""A class of one's own: `package.module:Class`."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from gymnasium.spaces import Dict, Space
from torch import nn

from yieldrl.vla.config import VLAConfig
from yieldrl.vla.model_calls import METHODS
from yieldrl.vla.state_dicts import read_state_dict
from yieldrl.vla.weights import load_strictly

GIVEN = ("observation_space", "action_space", "chunk_length")
"""What a class gets beside `model_config`, if its constructor names it."""


def load_given(
    config: VLAConfig, observation_space: Dict, action_space: Space[Any]
) -> nn.Module:
    """The model of `model_class`, made with `model_config`, its weights `model_path`.

    Args:
        config: Names the class; keys of its `model_config` are keyword arguments.
        observation_space: Dict of what the model reads.
        action_space: Of one action, or of a chunk.

    Raises:
        ImportError: If there is no such module or class.
        TypeError: If the class lacks a method of `VLAModelInterface`, or its
            constructor does not take `model_config`.
        FileNotFoundError: If there is no file of weights.
        CheckpointError: If the weights are another model's, or pickled objects.
    """
    model_class = find_class(config.model_class or "")
    check_class(model_class)
    spaces = (observation_space, action_space, config.chunk_length)
    parameters = inspect.signature(model_class).parameters
    given = dict(zip(GIVEN, spaces, strict=True))
    own = {name: value for name, value in given.items() if name in parameters}
    arguments = {**own, **config.model_config}
    try:
        inspect.signature(model_class).bind(**arguments)
    except TypeError as reason:
        raise TypeError(
            f"model_config = {config.model_config} does not fit"
            f" {model_class.__qualname__}{inspect.signature(model_class)}: {reason}"
        ) from None
    model = model_class(**arguments)
    if config.model_path is not None:
        load_strictly(model, read_state_dict(config.model_path), config.model_path)
    return model


def find_class(name: str) -> Any:
    """The class `package.module:Class`, or `package.module.Class`.

    Raises:
        ImportError: If there is no such module or class.
    """
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as reason:
        raise ImportError(
            f"model_class = {name!r}: there is no module {reason.name!r}; install it,"
            " or run where its file is (or with its folder in PYTHONPATH)"
        ) from reason
    if not isinstance(found, type):
        raise ImportError(
            f"model_class = {name!r}: the module {module!r} has no class {attribute!r};"
            " write it as 'package.module:Class'"
        )
    return found


def check_class(model_class: type) -> None:
    """Refuse a class that does not follow `VLAModelInterface`.

    Raises:
        TypeError: If it is no `nn.Module`, or lacks a method; the message names it.
    """
    name = model_class.__qualname__
    if not issubclass(model_class, nn.Module):
        raise TypeError(f"{name} is no torch.nn.Module: derive it from that")
    lacking = [m for m in METHODS if not callable(getattr(model_class, m, None))]
    if model_class.forward is nn.Module.forward:  # which only raises
        lacking.append("forward")
    if lacking:
        raise TypeError(
            f"{name} lacks {', '.join(lacking)}: a model has what"
            " yieldrl.vla.VLAModelInterface describes"
        )
