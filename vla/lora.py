"""Low-rank adapters: a small part that is trained in place of the whole."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from yieldrl.foundations import CheckpointError
from yieldrl.vla.adapter_files import (
    base_fingerprint,
    check_settings,
    check_shapes,
    copy_into,
    heads_of,
    on_cpu,
    read_settings,
    settings_of,
)
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.optional_imports import require
from yieldrl.vla.parameter_groups import (
    backbone_of,
    check_named,
    inner_model,
    is_linear,
    keep_in_eval,
    untrained_parts,
    vision_parameters,
)
from yieldrl.vla.state_dicts import read_state_dict

ADAPTERS, HEADS, SETTINGS = "adapters.safetensors", "heads.safetensors", "lora.json"
"""Files of `save_adapters`."""


def add_lora(model: nn.Module, config: VLAConfig) -> nn.Module:
    """Put low-rank adapters on linear layers, and freeze all else of the backbone.

    A layer's weight `W` becomes `W + alpha / rank * B A`, with `B` zero at first, so
    that nothing changes: Hu et al. 2021, "LoRA", arXiv:2106.09685, section 4. Heads,
    and projectors that no checkpoint holds, are still trained in full. Adapters are
    float32 also where the weights are bfloat16, for small steps would be rounded away.

    Args:
        model: Or a `VLAPolicy` around it. Its `backbone` is adapted, in place, and all
            outside of it is trained. A model without one names what is trained in full
            in `untrained`, a tuple of names of modules and parameters, `("value_head",
            "log_std")` say.
        config: Its `lora_rank`, `lora_alpha` and `lora_targets`: the names of linear
            layers, which get adapters wherever they are outside the vision encoder.

    Returns:
        The model.

    Raises:
        ImportError: If peft is not installed.
        ValueError: If there is no such layer, the model has adapters already, or it
            does not say what of it is new.
    """
    peft, given, model = require("peft"), model, inner_model(model)
    if next(adapters(model), None) is not None:
        raise ValueError("the model has adapters already: fold them in with merged()")
    root = backbone_of(model)
    layers = adapted_layers(model, config.lora_targets)
    new = untrained_parts(root)
    if root is model:
        check_named(model, layers)
    lora = peft.LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.alpha,
        target_modules=layers,
        lora_dropout=0.0,
        bias="none",
    )
    root.requires_grad_(False)
    with warnings.catch_warnings():  # that the weights of a Conv1D are transposed
        warnings.filterwarnings("ignore", message="fan_in_fan_out")
        peft.inject_adapter_in_model(lora, root)
    for part in new.values():
        part.requires_grad_(True)
    for _, parameter in adapters(model):
        parameter.data = parameter.data.float()
    keep_in_eval(root)
    return given


def adapted_layers(model: nn.Module, targets: Sequence[str]) -> list[str]:
    """Full names, inside the backbone, of the linear layers that targets name.

    Raises:
        ValueError: If there is none.
    """
    root = backbone_of(model)
    others = [*vision_parameters(root)]
    for part in untrained_parts(root).values():
        others += part.parameters() if isinstance(part, nn.Module) else [part]
    outside = {id(parameter) for parameter in others}
    linear: dict[str, Any] = {
        name: layer
        for name, layer in root.named_modules()
        if is_linear(layer) and id(layer.weight) not in outside
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
            rank, scale, layers and a fingerprint of the weights that the adapters were
            trained on, `lora.json`.

    Raises:
        ValueError: If the model has no adapters.
    """
    folder, model = Path(folder), inner_model(model)
    own = dict(adapters(model))
    if not own:
        raise ValueError("the model has no adapters: choose lora_rank above 0")
    folder.mkdir(parents=True, exist_ok=True)
    save_file = require("safetensors.torch").save_file
    save_file(on_cpu(own), folder / ADAPTERS)
    save_file(on_cpu(heads_of(model)), folder / HEADS)
    settings = {**settings_of(model), "base": base_fingerprint(model)}
    text = json.dumps(settings, indent=2)
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def load_adapters(model: nn.Module, folder: str | Path) -> nn.Module:
    """Put what `save_adapters` wrote on the model that it was trained on, in place.

    Args:
        model: Without adapters, or with such as are in the folder.
        folder: Where they are.

    Raises:
        FileNotFoundError: If a file is missing.
        CheckpointError: If they are another model's, or were trained on other weights;
            then the model is as it was.
    """
    folder, given, model = Path(folder), model, inner_model(model)
    settings = read_settings(folder / SETTINGS)
    states = [read_state_dict(folder / name) for name in (ADAPTERS, HEADS)]
    if base_fingerprint(model) != settings.pop("base"):
        raise CheckpointError(
            f"{folder / SETTINGS}: the adapters were trained on other weights than this"
            " model has: load the model that they were put on (its model_path, and the"
            " seed where its weights are random)"
        )
    if next(adapters(model), None) is None:
        with torch.random.fork_rng(devices=[]):  # what is drawn is overwritten
            add_lora(model, VLAConfig(**settings))
    else:
        check_settings(settings_of(model), settings, folder / SETTINGS)
    parts = dict(adapters(model)), heads_of(model)
    for own, state, name in zip(parts, states, (ADAPTERS, HEADS), strict=True):
        check_shapes(own, state, folder / name)
    for own, state in zip(parts, states, strict=True):
        copy_into(own, state)
    return given


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
