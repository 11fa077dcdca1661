"""Load the vision-language-action model that a config describes."""

import inspect
from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import nn

from yieldrl.core.files import read_file
from yieldrl.core.named_code import import_named
from yieldrl.networks.train_mode import in_float32
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import (
    check_options,
    load_strictly,
    model_folder,
    read_state_dict,
    require,
)
from yieldrl.vla.interface import check_model
from yieldrl.vla.lora import add_lora
from yieldrl.vla.model import VLAModel
from yieldrl.vla.parameter_groups import freeze_vision


def load_vla_model(
    config: VLAConfig,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    *,
    seed: int = 1,
) -> nn.Module:
    """The model that a config describes, with its weights, ready to be trained.

    Weights come from safetensors, or with `weights_only`; pickled objects and code of
    a repository are never run. What is new (heads, adapters, the tiny model) is drawn
    by `seed`, and the global generator stays as it was. ImportError if a package or a
    class is missing, FileNotFoundError if a file is, CheckpointError if weights are not
    the model's, ValueError if the config does not fit the model or the spaces.

    Args:
        config: Says backend, path, heads, adapters and what is frozen.
        observation_space: Dict of what a model reads (`vla_space` makes it).
        action_space: Of one action, or of a chunk.
        seed: Seed of new weights.
    """
    if not isinstance(observation_space, Dict):
        raise ValueError(
            f"{observation_space}: a model reads a Dict of rgb, depth, proprio and"
            " language; make one with yieldrl.vla.vla_space"
        )
    makers = {"tiny": _tiny, "transformers": _pretrained}
    make = makers.get(config.kind, _custom)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make(config, observation_space, action_space)
        if config.freeze_vision:
            freeze_vision(model)
        if config.lora_rank > 0:
            add_lora(model, config)
    if config.gradient_checkpointing:
        backbone = getattr(model, "backbone", model)
        if not hasattr(backbone, "enable_gradient_checkpointing"):
            raise config.error(
                "gradient_checkpointing",
                f"{type(backbone).__qualname__} has no enable_gradient_checkpointing();"
                " give it one, or choose False",
            )
        backbone.enable_gradient_checkpointing()
    return in_float32(model, torch.device("cpu"))


def _tiny(config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]) -> Any:
    """The tiny model; `model_path` may hold the weights of one, heads and all."""
    from yieldrl.vla.backends.tiny import tiny_backbone

    backbone = _cast(tiny_backbone(config, observed, acted), config)
    return _with_weights(VLAModel(backbone, observed, acted, config), config)


def _pretrained(config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]) -> Any:
    """A model from a folder or from the hub, by the `model_type` of its config."""
    require("transformers")
    folder = model_folder(config.model_path or "")
    values = read_file(folder / "config.json")
    kind = values.get("model_type")
    if kind in ("openvla", "openvla_oft", "prismatic"):
        from yieldrl.vla.backends.openvla import load_openvla

        return load_openvla(folder, values, observed, acted, config)
    if kind == "pi0":
        from yieldrl.vla.backends.pi0 import load_pi0

        return load_pi0(folder, observed, acted, config)
    from yieldrl.vla.backends.native import load_native

    check_options(config.model_config, [], f"a model of type {kind!r}")
    return VLAModel(load_native(folder, config.dtype), observed, acted, config)


def _custom(config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]) -> Any:
    """An instance of `model_class`, from `model_config`, with weights of `model_path`.

    The spaces and `chunk_length` are passed to a constructor that names them.
    """
    model_class = find_class(config.model_class or "")
    check_model(model_class)
    parameters = inspect.signature(model_class).parameters
    offered = {
        "observation_space": observed,
        "action_space": acted,
        "chunk_length": config.chunk_length,
    }
    given = {k: v for k, v in offered.items() if k in parameters}
    model = model_class(**{**given, **config.model_config})
    return _cast(_with_weights(model, config), config)


def find_class(name: str) -> Any:
    """The class `package.module:Class`, or `package.module.Class`."""
    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        return import_named(module, attribute)
    except (ModuleNotFoundError, AttributeError) as reason:
        raise ImportError(
            f"model_class = {name!r}: {reason}; write it as 'package.module:Class', and"
            " run where its file is (or with its folder in PYTHONPATH)"
        ) from reason


def _with_weights(model: nn.Module, config: VLAConfig) -> nn.Module:
    """The model with the weights of the file `model_path`, if there is one."""
    if config.model_path is not None:
        load_strictly(model, read_state_dict(config.model_path), config.model_path)
    return model


def _cast(module: nn.Module, config: VLAConfig) -> Any:
    """The module with parameters of the config's dtype; buffers stay as they are."""
    for parameter in module.parameters():
        parameter.data = parameter.data.to(getattr(torch, config.dtype))
    return module
