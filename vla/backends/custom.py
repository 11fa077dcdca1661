"""Load a model class of your own: `package.module:Class`."""

import inspect
from typing import Any

from gymnasium.spaces import Dict, Space
from torch import nn

from yieldrl.core.named_code import import_named
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import read_state_dict
from yieldrl.vla.model_calls import check_model
from yieldrl.vla.weights import load_strictly


def load_custom(
    config: VLAConfig, observation_space: Dict, action_space: Space[Any]
) -> nn.Module:
    """An instance of `model_class`, from `model_config`, with weights of `model_path`.

    The spaces and `chunk_length` are passed to a constructor that names them.
    """
    model_class = find_class(config.model_class or "")
    check_model(model_class)
    signature = inspect.signature(model_class)
    offered = {
        "observation_space": observation_space,
        "action_space": action_space,
        "chunk_length": config.chunk_length,
    }
    own = {k: v for k, v in offered.items() if k in signature.parameters}
    arguments = {**own, **config.model_config}
    try:
        signature.bind(**arguments)
    except TypeError as reason:
        raise TypeError(
            f"model_config = {config.model_config} does not fit"
            f" {model_class.__qualname__}{signature}: {reason}"
        ) from None
    model = model_class(**arguments)
    if config.model_path is not None:
        load_strictly(model, read_state_dict(config.model_path), config.model_path)
    return model


def find_class(name: str) -> Any:
    """The class `package.module:Class`, or `package.module.Class`."""
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        found = import_named(module, attribute)
    except ModuleNotFoundError as reason:
        raise ImportError(
            f"model_class = {name!r}: there is no module {reason.name!r}; install it,"
            " or run where its file is (or with its folder in PYTHONPATH)"
        ) from reason
    except AttributeError:
        found = None
    if not isinstance(found, type):
        raise ImportError(
            f"model_class = {name!r}: the module {module!r} has no class {attribute!r};"
            " write it as 'package.module:Class'"
        )
    return found
