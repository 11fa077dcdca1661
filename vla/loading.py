"""Load the vision-language-action model that a config describes."""

from typing import Any

import gymnasium
import torch
from gymnasium.spaces import Dict
from torch import nn

from yieldrl.core import CheckpointError, resolve_device
from yieldrl.networks.dtypes import in_float32
from yieldrl.vla.actions import action_layout
from yieldrl.vla.backends import check_options
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import (
    existing,
    model_folder,
    read_json,
    read_state_dict,
    require,
)
from yieldrl.vla.lora import add_lora
from yieldrl.vla.model import VLAModel
from yieldrl.vla.parameter_groups import enable_gradient_checkpointing, freeze_vision
from yieldrl.vla.weights import load_strictly


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
    by `seed`, and the global generator stays as it was.

    Args:
        config: Says backend, path, heads, adapters and what is frozen.
        observation_space: Dict of what a model reads (`vla_space` makes it).
        action_space: Of one action, or of a chunk.
        seed: Seed of new weights.

    Raises:
        ImportError: If a package, a module or a class is missing.
        FileNotFoundError: If a file is missing.
        CheckpointError: If the weights are not the model's.
        ValueError: If the config does not fit the model or the spaces.
    """
    if not isinstance(observation_space, Dict):
        raise ValueError(
            f"{observation_space}: a model reads a Dict of rgb, depth, proprio and"
            " language; make one with yieldrl.vla.vla_space"
        )
    make = _MAKERS[config.kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make(config, observation_space, action_space)
        if config.freeze_vision:
            freeze_vision(model)
        if config.lora_rank > 0:
            add_lora(model, config)
        if config.gradient_checkpointing:
            enable_gradient_checkpointing(model)
    return in_float32(model)


def _tiny(config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]) -> nn.Module:
    """The tiny model; `model_path` may hold the weights of one, heads and all."""
    from yieldrl.vla.backends.tiny import TinyConfig, tiny_backbone

    counts = action_layout(acted, config.chunk_length).counts
    entries = max(counts or (config.action_bins,))
    sizes = TinyConfig.from_mapping(config.model_config)
    backbone = tiny_backbone(sizes, observed, action_entries=entries)
    model = VLAModel(_cast(backbone, config), observed, acted, config)
    if config.model_path is not None:
        load_strictly(model, read_state_dict(config.model_path), config.model_path)
    return model.to(_device(config))


def _pretrained(
    config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]
) -> nn.Module:
    """A model from a folder or from the hub, by the `model_type` of its config."""
    assert config.model_path is not None
    require("transformers")
    folder, device = model_folder(config.model_path), _device(config)
    remedy = (
        "a model's folder needs it: download it whole, or save the model with"
        " save_pretrained"
    )
    values = read_json(existing(folder / "config.json", remedy))
    kind = values.get("model_type")
    if kind in ("openvla", "openvla_oft", "prismatic"):
        from yieldrl.vla.backends.openvla_model import load_openvla

        return load_openvla(folder, values, observed, acted, config, device)
    if kind == "pi0":
        from yieldrl.vla.backends.pi0 import load_pi0

        return load_pi0(folder, observed, acted, config, device)
    from yieldrl.vla.backends.transformers_policy import is_native, load_native

    if not is_native(kind):
        raise CheckpointError(
            f"{folder}: model_type {kind!r} is none that is known here: take OpenVLA,"
            " PI0 or one that transformers loads as AutoModelForImageTextToText, or"
            " name a class of your own in model_class"
        )
    check_options(config.model_config, [], f"a model of type {kind!r}")
    backbone = load_native(folder, config.dtype, device)
    return VLAModel(backbone, observed, acted, config).to(device)


def _lerobot(
    config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]
) -> nn.Module:
    from yieldrl.vla.backends.lerobot import LeRobotVLA, load_policy

    assert config.model_path is not None
    policy = _cast(load_policy(config.model_path, config.model_class), config)
    return LeRobotVLA(policy, observed, acted, config).to(_device(config))


def _custom(
    config: VLAConfig, observed: Dict, acted: gymnasium.Space[Any]
) -> nn.Module:
    from yieldrl.vla.backends.custom import load_custom

    return _cast(load_custom(config, observed, acted), config).to(_device(config))


_MAKERS = {
    "tiny": _tiny,
    "transformers": _pretrained,
    "lerobot": _lerobot,
    "class": _custom,
}


def _device(config: VLAConfig) -> str:
    """The device to load weights to; from the CPU the algorithm moves them."""
    return str(resolve_device(config.device_map or "cpu"))


def _cast(module: nn.Module, config: VLAConfig) -> Any:
    """The module with parameters of the config's dtype; buffers stay as they are."""
    dtype = getattr(torch, config.dtype)
    for parameter in module.parameters():
        parameter.data = parameter.data.to(dtype)
    return module
