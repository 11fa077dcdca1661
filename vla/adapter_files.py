"""What is beside adapters in their files: heads, settings, and whose they are."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.foundations import CheckpointError
from yieldrl.vla.hub import read_json
from yieldrl.vla.optional_imports import require
from yieldrl.vla.parameter_groups import backbone_of, untrained_parts
from yieldrl.vla.weights import check_names, distinct


def base_fingerprint(model: nn.Module) -> str:
    """What tells the pretrained weights of a model from others: a SHA-256.

    It is of names, shapes and numbers, the latter as bfloat16, so that a model which is
    loaded in fewer digits has the fingerprint of the whole one.
    """
    new, total = heads_of(model).keys(), hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if name in new or ".lora_" in name:
            continue
        plain = tensor.bfloat16() if tensor.is_floating_point() else tensor
        total.update(f"{name.replace('.base_layer', '')} {list(tensor.shape)}".encode())
        total.update(plain.cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return total.hexdigest()


def heads_of(model: nn.Module) -> dict[str, Tensor]:
    """All that no checkpoint of the backbone holds, by name, on its device."""
    root = backbone_of(model)
    at = next(name for name, module in model.named_modules() if module is root)
    inside = f"{at}." if at else ""
    own = tuple(f"{inside}{name}" for name in untrained_parts(root))
    return {
        name: tensor
        for name, tensor in distinct(model.state_dict(keep_vars=True)).items()
        if name in own
        or name.startswith(tuple(f"{start}." for start in own))
        or (inside and not name.startswith(inside))
    }


def settings_of(model: nn.Module) -> dict[str, Any]:
    """Rank, scale and layers of the adapters, as `VLAConfig` has them."""
    layer_class = require("peft.tuners.tuners_utils").BaseTunerLayer
    layers = {k: v for k, v in model.named_modules() if isinstance(v, layer_class)}
    first: Any = next(iter(layers.values()))
    return {
        "lora_rank": first.r["default"],
        "lora_alpha": float(first.lora_alpha["default"]),
        "lora_targets": tuple(sorted({name.rpartition(".")[2] for name in layers})),
    }


def read_settings(file: Path) -> dict[str, Any]:
    """What `save_adapters` wrote into `lora.json`.

    Raises:
        FileNotFoundError: If there is none.
        CheckpointError: If an entry is missing.
    """
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; save_adapters writes it")
    found = read_json(file)
    names = "lora_rank", "lora_alpha", "lora_targets", "base"
    for name in names:
        if name not in found:
            raise CheckpointError(
                f"{file} has no {name!r}: save the adapters again with save_adapters"
            )
    settings = {name: found[name] for name in names}
    return {**settings, "lora_targets": tuple(settings["lora_targets"])}


def check_settings(own: dict[str, Any], wanted: dict[str, Any], file: Path) -> None:
    """Refuse adapters of another rank or scale, or on other layers.

    Raises:
        CheckpointError: If they are.
    """
    for name, value in wanted.items():
        if own[name] != value:
            raise CheckpointError(
                f"{file}: {name} = {value}, and the model's adapters have {own[name]}:"
                " load them onto a model without adapters"
            )


def check_shapes(own: dict[str, Any], state: dict[str, Tensor], file: Path) -> None:
    """Refuse tensors of a file that are not a model's own.

    Raises:
        CheckpointError: If names or shapes differ.
    """
    shapes = {name: tensor.shape for name, tensor in own.items()}
    check_names(shapes, {k: v.shape for k, v in state.items()}, str(file))


def on_cpu(tensors: dict[str, Any]) -> dict[str, Tensor]:
    """Tensors as files take them."""
    return {k: v.detach().cpu().contiguous() for k, v in tensors.items()}


@torch.no_grad()
def copy_into(tensors: dict[str, Any], state: dict[str, Tensor]) -> None:
    """Overwrite tensors by those of their names."""
    for name, tensor in tensors.items():
        tensor.copy_(state[name])
