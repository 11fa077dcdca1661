"""Low-rank adapters: a small part that is trained in place of the whole."""

import copy
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.text import listed
from yieldrl.networks import frozen_parts
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import existing, require
from yieldrl.vla.parameter_groups import inner_model, vision_parameters

CONFIG, ADAPTERS = "adapter_config.json", "adapter_model.safetensors"
"""Files of a folder, as peft has them: rank, scale, layers; and the adapters."""

PREFIX = "base_model.model."
"""What peft puts before the names of modules, which are those of the backbone."""

HEADS = "heads.safetensors"
"""File of a folder: all else that is not pretrained, and a fingerprint of what is."""


def add_lora(model: nn.Module, config: VLAConfig) -> nn.Module:
    """Put low-rank adapters on linear layers, and freeze all else of the backbone.

    A layer's weight `W` becomes `W + alpha / rank * B A`, with `B` zero at first, so
    that nothing changes: Hu et al. 2021, "LoRA", arXiv:2106.09685, section 4. What is
    not pretrained is still trained in full. Adapters are float32 also where the weights
    are bfloat16, for small steps would be rounded away.

    Args:
        model: The model, or a `VLAPolicy` around it; adapted in place, and returned.
            `VLAModelInterface` says which part is pretrained.
        config: Its `lora_targets` name linear layers, which get adapters wherever they
            are outside the vision encoder.

    ValueError if there is no such layer, the model has adapters already, or it has no
    backbone.
    """
    inside = inner_model(model)
    root = _backbone(inside)
    if _config(root) is not None:
        raise ValueError("the model has adapters already: fold them in with merged()")
    layers = {
        name.rpartition(".")[2]
        for name, layer in root.named_modules()
        if type(layer).__name__ in ("Linear", "Conv1D")  # which GPT-2 has
    }
    if layers.isdisjoint(config.lora_targets):
        names = ", ".join(sorted(layers))
        raise config.error("lora_targets", f"no layer has such a name; choose: {names}")
    unfit = {id(parameter) for parameter in vision_parameters(inside)}
    unfit |= {id(parameter) for part in _new(root) for parameter in part.parameters()}
    writes = getattr(root, "can_generate", bool)()
    lora = require("peft").LoraConfig(
        base_model_name_or_path=config.model_path,
        task_type="CAUSAL_LM" if writes else None,
        r=config.lora_rank,
        lora_alpha=config.alpha,
        target_modules=list(config.lora_targets),
        exclude_modules=[
            name
            for name, layer in root.named_modules()
            if any(id(p) in unfit for p in layer.parameters(recurse=False))
        ],
    )
    _inject(inside, lora)
    return model


def _inject(model: nn.Module, lora: Any) -> None:
    """Put adapters of peft's config onto the backbone, and freeze all else of it."""
    peft, root = require("peft"), _backbone(model)
    root.requires_grad_(False)
    with warnings.catch_warnings():  # about Conv1D's transposed weights
        warnings.filterwarnings("ignore", message="fan_in_fan_out")
        peft.inject_adapter_in_model(lora, root)
    for part in _new(root):
        part.requires_grad_(True)
    for _, parameter in adapters(model):
        parameter.data = parameter.data.float()
    for part in frozen_parts(root):
        part.eval()


def adapters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters of the adapters, by name."""
    for name, parameter in model.named_parameters():
        if ".lora_" in name:
            yield name, parameter


def merged(model: nn.Module) -> nn.Module:
    """A copy of the model with its adapters folded into the weights.

    In float32 its outputs are equal up to rounding, without extra matrix products.
    """
    model = copy.deepcopy(model)
    adapted = require("peft.tuners.tuners_utils").BaseTunerLayer
    layers: list[tuple[str, Any]] = list(model.named_modules())
    for name, layer in layers:
        if isinstance(layer, adapted):
            layer.merge(safe_merge=True)
            model.set_submodule(name, layer.get_base_layer())
    vars(_backbone(inner_model(model))).pop("peft_config", None)
    return model


def save_adapters(model: nn.Module, folder: str | Path) -> None:
    """Write the weights that training with adapters changes; no pretrained ones.

    A folder gets the adapters as peft writes them, so that `PeftModel.from_pretrained`
    puts them on the backbone; and all that is not pretrained (heads, statistics), with
    a fingerprint of the weights that the adapters were trained on, in
    `heads.safetensors`. ValueError if the model has no adapters.
    """
    folder, model = Path(folder), inner_model(model)
    root = _backbone(model)
    if (lora := _config(root)) is None:
        raise ValueError("the model has no adapters: choose lora_rank above 0")
    lora.save_pretrained(folder)  # which makes the folder
    base = {"format": "pt", "base": _base_fingerprint(model)}
    lora_state = require("peft").get_peft_model_state_dict
    adapted = lora_state(root, save_embedding_layers=False)
    adapted = {PREFIX + name: tensor for name, tensor in adapted.items()}
    for name, tensors in ((ADAPTERS, adapted), (HEADS, _heads(model))):
        tensors = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
        require("safetensors.torch").save_file(tensors, folder / name, metadata=base)


def load_adapters(model: nn.Module, folder: str | Path) -> nn.Module:
    """Load what `save_adapters` wrote into a model of the same base weights, in place.

    Or what `PeftModel.save_pretrained` did, of a model with the backbone's layers: then
    heads stay as they are, and nobody knows what weights the adapters were trained on.
    The model has no adapters, or those of the folder. FileNotFoundError if a file is
    missing; CheckpointError if they are another model's, or were trained on other
    weights. Then the model is as it was.
    """
    folder, given, model = Path(folder), model, inner_model(model)
    peft, root = require("peft"), _backbone(model)
    for name in (CONFIG, ADAPTERS):
        existing(folder / name, "save_adapters writes it, and peft's save_pretrained")
    saved = peft.LoraConfig.from_pretrained(str(folder))
    base, weights = _read(folder / ADAPTERS)
    weights = {name.removeprefix(PREFIX): x for name, x in weights.items()}
    heads = {} if base is None else _checked_heads(model, folder, base)
    _check_layers(root, saved, weights, folder)
    if (present := _config(root)) is None:
        with torch.random.fork_rng(devices=[]):  # random values are overwritten
            _inject(model, saved)
    elif _described(present) != _described(saved):
        raise CheckpointError(
            f"{folder}: adapters of {_described(saved)}, and the model's are of"
            f" {_described(present)}: load them onto a model without adapters"
        )
    peft.set_peft_model_state_dict(root, weights)
    model.load_state_dict(heads, strict=False)
    return given


def _read(file: Path) -> tuple[str | None, dict[str, Tensor]]:
    """The fingerprint in a file of `save_adapters`, and the tensors by name."""
    with require("safetensors").safe_open(file, framework="pt") as opened:
        base = (opened.metadata() or {}).get("base")
        return base, {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118


def _checked_heads(model: nn.Module, folder: Path, base: str) -> dict[str, Tensor]:
    """A folder's heads, if they and the base weights are those of the model."""
    _, heads = _read(existing(folder / HEADS, "save_adapters writes it"))
    if _base_fingerprint(model) != base:
        raise CheckpointError(
            f"{folder}: the adapters were trained on other weights than this model has:"
            " load the model that they were put on (its model_path, and the seed where"
            " its weights are random)"
        )
    wanted = {name: tensor.shape for name, tensor in _heads(model).items()}
    if wanted != {name: tensor.shape for name, tensor in heads.items()}:
        raise CheckpointError(
            f"{folder / HEADS}: not the heads of this model: load them into one with"
            " the same spaces and the same config"
        )
    return heads


def _check_layers(
    root: nn.Module, lora: Any, weights: Mapping[str, Tensor], folder: Path
) -> None:
    """Refuse adapters that lack some of a network's layers; warn of those too many."""
    matches = require("peft.tuners.tuners_utils").check_target_module_exists
    names = {name.partition(".base_layer")[0] for name, _ in root.named_modules()}
    wanted = {x for x in names if ".lora_" not in x and matches(lora, x)}
    given = {name.rpartition(".lora_")[0] for name in weights if ".lora_" in name}
    if wanted - given or not wanted:
        theirs, ours = (listed(sorted(layers)) for layers in (given, wanted))
        raise CheckpointError(
            f"{folder}: the adapters are for {theirs}, and the network has"
            f" {ours or 'no such layer'}: load them onto the one they were put on"
        )
    if unknown := sorted(given - wanted):
        warnings.warn(
            f"{folder}: the network has no {listed(unknown)}, and leaves out the"
            " adapters of such layers",
            stacklevel=3,
        )


def _backbone(model: nn.Module) -> nn.Module:
    """The pretrained network inside a model; ValueError without any."""
    backbone = getattr(model, "backbone", None)
    if not isinstance(backbone, nn.Module):
        raise ValueError(
            f"lora_rank: {type(model).__qualname__} has no module in an attribute"
            " backbone, so nothing says what of it is pretrained: put that into"
            " self.backbone, and what is new (heads, log_std) beside it"
        )
    return backbone


def _new(root: nn.Module) -> list[nn.Module]:
    """The modules that a backbone lists in `untrained`: no checkpoint holds them."""
    parts = (getattr(root, name) for name in getattr(root, "untrained", ()))
    return [part for part in parts if part is not None]


def _heads(model: nn.Module) -> dict[str, Tensor]:
    """The tensors that no checkpoint of the backbone holds, by name, on its device."""
    untrained = getattr(_backbone(model), "untrained", ())
    inside = tuple(f"backbone.{name}." for name in untrained)
    return {
        name: tensor
        for name, tensor in model.state_dict().items()
        if not name.startswith("backbone.") or name.startswith(inside)
    }


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


def _config(root: nn.Module) -> Any:
    """The config that peft keeps on a network with adapters; None without."""
    return vars(root).get("peft_config", {}).get("default")


def _described(lora: Any) -> str:
    """Rank, scale and layers of a config of peft."""
    targets = lora.target_modules
    names = targets if isinstance(targets, str) else ", ".join(sorted(targets))
    kinds = [name for name in ("use_rslora", "use_dora") if getattr(lora, name)]
    what = [f"rank {lora.r}", f"scale {lora.lora_alpha:g}", *kinds, f"on {names}"]
    return ", ".join(what)
