"""Low-rank adapters: a small part that is trained in place of the whole."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.vla.config import VLAConfig
from yieldrl.vla.extra import require
from yieldrl.vla.folders import read_json
from yieldrl.vla.parts import backbone_of, vision_parameters
from yieldrl.vla.state_dicts import read_state_dict
from yieldrl.vla.weights import check_names, distinct

ADAPTERS, HEADS, SETTINGS = "adapters.safetensors", "heads.safetensors", "lora.json"
"""Files of `save_adapters`."""


def add_lora(model: nn.Module, config: VLAConfig) -> nn.Module:
    """Put low-rank adapters on linear layers, and freeze all else of the backbone.

    A layer's weight `W` becomes `W + alpha / rank * B A`, with `B` zero at first, so
    that nothing changes: Hu et al. 2021, "LoRA", arXiv:2106.09685, section 4. Heads,
    and projectors that no checkpoint holds, are still trained in full. Adapters are
    float32 also where the weights are bfloat16, for small steps would be rounded away.

    Args:
        model: Its `backbone`, or where it has none all of it, is adapted; in place.
        config: Its `lora_rank`, `lora_alpha` and `lora_targets`: the names of linear
            layers, which get adapters wherever they are outside the vision encoder.

    Returns:
        The model.

    Raises:
        ImportError: If peft is not installed.
        ValueError: If there is no such layer, or the model has adapters already.
    """
    peft = require("peft")
    if next(adapters(model), None) is not None:
        raise ValueError("the model has adapters already: fold them in with merged()")
    root = backbone_of(model)
    layers = adapted_layers(model, config.lora_targets)
    lora = peft.LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.alpha,
        target_modules=layers,
        lora_dropout=0.0,
        bias="none",
    )
    root.requires_grad_(False)
    peft.inject_adapter_in_model(lora, root)
    for name in getattr(root, "untrained", ()):
        part = getattr(root, name)
        if part is not None:
            part.requires_grad_(True)
    for _, parameter in adapters(model):
        parameter.data = parameter.data.float()
    return model


def adapted_layers(model: nn.Module, targets: Sequence[str]) -> list[str]:
    """Full names, inside the backbone, of the linear layers that targets name.

    Raises:
        ValueError: If there is none.
    """
    root = backbone_of(model)
    seeing = {id(parameter) for parameter in vision_parameters(root)}
    linear = {
        name: layer
        for name, layer in root.named_modules()
        if isinstance(layer, nn.Linear) and id(layer.weight) not in seeing
    }
    found = [name for name in linear if name.rpartition(".")[2] in targets]
    if not found:
        names = sorted({name.rpartition(".")[2] for name in linear})
        raise ValueError(
            f"lora_targets = {tuple(targets)}: no linear layer has such a name; choose"
            f" of {', '.join(names)}"
        )
    return found


def adapters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters of the adapters, by name."""
    for name, parameter in model.named_parameters():
        if ".lora_" in name:
            yield name, parameter


def save_adapters(model: nn.Module, folder: str | Path) -> None:
    """Write what training with adapters changes, without the pretrained weights.

    Args:
        model: With adapters.
        folder: Is made if need be. It gets the adapters alone, `adapters.safetensors`;
            all that is not pretrained (heads, statistics), `heads.safetensors`; and
            rank, scale and layers, `lora.json`.

    Raises:
        ValueError: If the model has no adapters.
    """
    folder = Path(folder)
    own = dict(adapters(model))
    if not own:
        raise ValueError("the model has no adapters: choose lora_rank above 0")
    folder.mkdir(parents=True, exist_ok=True)
    save_file = require("safetensors.torch").save_file
    save_file(_on_cpu(own), folder / ADAPTERS)
    save_file(_on_cpu(_heads(model)), folder / HEADS)
    text = json.dumps(_settings(model), indent=2)
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def load_adapters(model: nn.Module, folder: str | Path) -> nn.Module:
    """Put what `save_adapters` wrote on the model that it was trained on, in place.

    Args:
        model: Without adapters, or with such as are in the folder.
        folder: Where they are.

    Raises:
        FileNotFoundError: If a file is missing.
        CheckpointError: If they are another model's.
    """
    folder = Path(folder)
    file = folder / SETTINGS
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; save_adapters writes it")
    if next(adapters(model), None) is None:
        settings = read_json(file)
        settings["lora_targets"] = tuple(settings["lora_targets"])
        with torch.random.fork_rng(devices=[]):  # what is drawn is overwritten
            add_lora(model, VLAConfig(**settings))
    for name, own in ((ADAPTERS, dict(adapters(model))), (HEADS, _heads(model))):
        _copy_into(own, folder / name)
    return model


def merged(model: nn.Module, *, in_place: bool = False) -> nn.Module:
    """The model with its adapters folded into the weights: for evaluation.

    In float32 it acts as before to rounding, without the adapters' extra products.

    Args:
        model: With or without adapters.
        in_place: Whether the model itself changes, which saves the memory of a copy.
    """
    model = model if in_place else copy.deepcopy(model)
    layer_class = require("peft.tuners.tuners_utils").BaseTunerLayer
    layers: list[tuple[str, Any]] = list(model.named_modules())
    for name, layer in layers:
        if isinstance(layer, layer_class):
            layer.merge(safe_merge=True)
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, layer.get_base_layer())
    return model


def _heads(model: nn.Module) -> dict[str, Tensor]:
    """All that no checkpoint of the backbone holds, by name, on its device."""
    root = backbone_of(model)
    inside = "backbone." if root is not model else ""
    own = tuple(f"{inside}{name}." for name in getattr(root, "untrained", ()))
    return {
        name: tensor
        for name, tensor in distinct(model.state_dict(keep_vars=True)).items()
        if name.startswith(own) or (inside and not name.startswith(inside))
    }


def _settings(model: nn.Module) -> dict[str, Any]:
    """Rank, scale and layers of the adapters, as `VLAConfig` has them."""
    layer_class = require("peft.tuners.tuners_utils").BaseTunerLayer
    layers = {k: v for k, v in model.named_modules() if isinstance(v, layer_class)}
    first: Any = next(iter(layers.values()))
    return {
        "lora_rank": first.r["default"],
        "lora_alpha": float(first.lora_alpha["default"]),
        "lora_targets": sorted({name.rpartition(".")[2] for name in layers}),
    }


def _on_cpu(tensors: dict[str, Any]) -> dict[str, Tensor]:
    return {k: v.detach().cpu().contiguous() for k, v in tensors.items()}


@torch.no_grad()
def _copy_into(tensors: dict[str, Any], path: Path) -> None:
    state = read_state_dict(path)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    check_names(shapes, {k: v.shape for k, v in state.items()}, str(path))
    for name, tensor in tensors.items():
        tensor.copy_(state[name])
