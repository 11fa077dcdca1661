"""Save and load adapters: trained weights without the pretrained ones."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import existing, read_json, read_state_dict, require
from yieldrl.vla.lora import adapter_layers, adapters, add_lora
from yieldrl.vla.parameter_groups import backbone_of, inner_model, untrained_parts
from yieldrl.vla.weights import check_names, distinct, shapes

ADAPTERS, HEADS, SETTINGS = "adapters.safetensors", "heads.safetensors", "lora.json"


def save_adapters(model: nn.Module, folder: str | Path) -> None:
    """Write the weights that training with adapters changes; no pretrained ones.

    A folder gets the adapters, `adapters.safetensors`; all that is not pretrained
    (heads, statistics), `heads.safetensors`; and rank, scale, layers and a fingerprint
    of the weights that the adapters were trained on, `lora.json`. ValueError if the
    model has no adapters.
    """
    folder, model = Path(folder), inner_model(model)
    own = dict(adapters(model))
    if not own:
        raise ValueError("the model has no adapters: choose lora_rank above 0")
    folder.mkdir(parents=True, exist_ok=True)
    for tensors, name in ((own, ADAPTERS), (_heads(model), HEADS)):
        tensors = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
        require("safetensors.torch").save_file(tensors, folder / name)
    settings = {**_settings(model), "base": _base_fingerprint(model)}
    text = json.dumps(settings, indent=2)
    (folder / SETTINGS).write_text(text, encoding="utf-8")


def load_adapters(model: nn.Module, folder: str | Path) -> nn.Module:
    """Load what `save_adapters` wrote into a model of the same base weights, in place.

    The model has no adapters, or those of the folder.

    Raises:
        FileNotFoundError: If a file is missing.
        CheckpointError: If they are another model's, or were trained on other weights;
            then the model is as it was.
    """
    folder, given, model = Path(folder), model, inner_model(model)
    settings = _read_settings(folder / SETTINGS)
    states = [read_state_dict(folder / name) for name in (ADAPTERS, HEADS)]
    if _base_fingerprint(model) != settings.pop("base"):
        raise CheckpointError(
            f"{folder / SETTINGS}: the adapters were trained on other weights than this"
            " model has: load the model that they were put on (its model_path, and the"
            " seed where its weights are random)"
        )
    own = settings
    if next(adapters(model), None) is not None:
        own = _settings(model)
    else:
        with torch.random.fork_rng(devices=[]):  # random values are overwritten
            add_lora(model, VLAConfig(**settings))
    for name, value in settings.items():
        if own[name] != value:
            raise CheckpointError(
                f"{folder / SETTINGS}: {name} = {value}, and the model's adapters have"
                f" {own[name]}: load them onto a model without adapters"
            )
    parts = dict(adapters(model)), _heads(model)
    for tensors, state, file in zip(parts, states, (ADAPTERS, HEADS), strict=True):
        check_names(shapes(tensors), shapes(state), str(folder / file))
    with torch.no_grad():
        for tensors, state in zip(parts, states, strict=True):
            for name, tensor in tensors.items():
                tensor.copy_(state[name])
    return given


def _base_fingerprint(model: nn.Module) -> str:
    """A SHA-256 of the pretrained weights: names, shapes and numbers as bfloat16, so
    that it is the same for a model that is loaded in fewer digits."""
    new, total = _heads(model).keys(), hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if name in new or ".lora_" in name:
            continue
        plain = tensor.bfloat16() if tensor.is_floating_point() else tensor
        total.update(f"{name.replace('.base_layer', '')} {list(tensor.shape)}".encode())
        total.update(plain.cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return total.hexdigest()


def _heads(model: nn.Module) -> dict[str, Tensor]:
    """The tensors that no checkpoint of the backbone holds, by name, on its device."""
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


def _settings(model: nn.Module) -> dict[str, Any]:
    """Rank, scale and layers of the adapters, as `VLAConfig` has them."""
    layers = adapter_layers(model)
    first = next(iter(layers.values()))
    return {
        "lora_rank": first.r["default"],
        "lora_alpha": float(first.lora_alpha["default"]),
        "lora_targets": tuple(sorted({name.rpartition(".")[2] for name in layers})),
    }


def _read_settings(file: Path) -> dict[str, Any]:
    """The settings that `save_adapters` wrote into `lora.json`."""
    found = read_json(existing(file, "save_adapters writes it"))
    names = "lora_rank", "lora_alpha", "lora_targets", "base"
    for name in names:
        if name not in found:
            raise CheckpointError(
                f"{file} has no {name!r}: save the adapters again with save_adapters"
            )
    settings = {name: found[name] for name in names}
    return {**settings, "lora_targets": tuple(settings["lora_targets"])}
