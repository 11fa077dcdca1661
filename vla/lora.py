"""Low-rank adapters: a small part that is trained in place of the whole."""

import copy
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from yieldrl.core.text import listed
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.files import require
from yieldrl.vla.parameter_groups import (
    backbone_of,
    check_named,
    inner_model,
    is_linear,
    keep_in_eval,
    untrained_parts,
    vision_parameters,
)


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
    with warnings.catch_warnings():  # about Conv1D's transposed weights
        warnings.filterwarnings("ignore", message="fan_in_fan_out")
        peft.inject_adapter_in_model(lora, root)
    for part in new.values():
        part.requires_grad_(True)
    for _, parameter in adapters(model):
        parameter.data = parameter.data.float()
    keep_in_eval(root)
    return given


def adapted_layers(model: nn.Module, targets: Sequence[str]) -> list[str]:
    """Full names, inside the backbone, of the linear layers that targets name."""
    root = backbone_of(model)
    others = vision_parameters(root)
    for part in untrained_parts(root).values():
        others += part.parameters() if isinstance(part, nn.Module) else [part]
    outside = {id(parameter) for parameter in others}
    layers = list(root.named_modules(remove_duplicate=False))
    own = [p for _, layer in layers for p in layer.parameters(recurse=False)]
    unfit = {key for key, count in Counter(map(id, own)).items() if count > 1}
    # Attention reads this weight without a call of the layer.
    attention = [x for _, x in layers if isinstance(x, nn.MultiheadAttention)]
    unfit |= {id(layer.out_proj.weight) for layer in attention}
    linear: list[str] = []
    for name, layer in layers:
        if is_linear(layer) and id(layer.weight) not in outside:
            linear.append(name)
    named = [name for name in linear if name.rpartition(".")[2] in targets]
    found = [n for n in named if id(root.get_submodule(n).weight) not in unfit]
    if left := [name for name in named if name not in found]:
        warnings.warn(
            f"no adapters on {listed(left)}: the weight is tied to another layer's, or"
            " read by torch.nn.MultiheadAttention without a call of the layer",
            stacklevel=2,
        )
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


def adapter_layers(model: nn.Module) -> dict[str, Any]:
    """The layers that have adapters, by name."""
    layer_class = require("peft.tuners.tuners_utils").BaseTunerLayer
    return {k: v for k, v in model.named_modules() if isinstance(v, layer_class)}


def merged(model: nn.Module, *, in_place: bool = False) -> nn.Module:
    """A copy of the model, or itself, with its adapters folded into the weights.

    In float32 its outputs are equal up to rounding, without extra matrix products.
    """
    model = model if in_place else copy.deepcopy(model)
    for name, layer in adapter_layers(model).items():
        layer.merge(safe_merge=True)
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, layer.get_base_layer())
    return model
