"""Groups of a model's parameters: pretrained, new, vision, frozen."""

import operator
from typing import Any

from torch import nn

from yieldrl.networks import frozen_parts


def inner_model(model: nn.Module) -> nn.Module:
    """The model inside a `VLAPolicy`; any other model unchanged."""
    inside: Any = getattr(model, "model", model)
    return inside if getattr(model, "wraps_model", False) else model


def backbone_of(model: nn.Module) -> nn.Module:
    """The pretrained network inside a model: its `backbone`, or all of it."""
    backbone = getattr(model, "backbone", model)
    return backbone if isinstance(backbone, nn.Module) else model


def untrained_parts(root: nn.Module) -> dict[str, nn.Module | nn.Parameter]:
    """The parts that a network lists in `untrained`: no checkpoint holds them."""
    names = getattr(root, "untrained", ())
    parts = {name: operator.attrgetter(name)(root) for name in names}
    return {name: part for name, part in parts.items() if part is not None}


def vision_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The `vision_parameters()` of a model or of its backbone; empty without any."""
    owners: Any = backbone_of(model), model
    methods = (getattr(owner, "vision_parameters", None) for owner in owners)
    return list(next(filter(None, methods), list)())


def optimizer_groups(model: nn.Module, config: Any) -> list[dict[str, Any]]:
    """A model's `parameter_groups`, if it has any, with the learning rates of a config;
    ValueError for the rate of a group that the model lacks."""
    groups = {"policy": [p for p in model.parameters() if p.requires_grad]}
    if (method := getattr(model, "parameter_groups", None)) is not None:
        groups = method()
    fields = {"adapters": "adapter_learning_rate", "value": "value_learning_rate"}
    trained: list[dict[str, Any]] = []
    for name in ("policy", *fields):
        field = fields.get(name)
        rate = None if field is None else getattr(config, field)
        if groups.get(name):
            rate = rate or config.learning_rate
            trained.append({"params": groups[name], "lr": rate})
        elif rate is not None:
            raise config.error(
                field,
                f"the model {type(model).__name__} has no group of trainable parameters"
                f" called {name!r}: leave it at None, or let its parameter_groups()"
                " return one",
            )
    return trained


def frozen_into_eval(model: nn.Module) -> None:
    """Put the parts of a model without trained parameters into eval mode."""
    for part in frozen_parts(model):
        part.eval()


def freeze_vision(model: nn.Module) -> nn.Module:
    """Freeze the vision encoder: no gradients, eval mode."""
    parameters = vision_parameters(model)
    if not parameters:
        raise ValueError(
            f"freeze_vision: {type(backbone_of(model)).__qualname__} does not say which"
            " parameters are its vision encoder's; give it a method vision_parameters()"
        )
    for parameter in parameters:
        parameter.requires_grad_(False)
    frozen_into_eval(model)
    return model


def enable_gradient_checkpointing(model: nn.Module) -> None:
    """Let a backbone recompute hidden states for gradients, to save memory."""
    backbone = backbone_of(model)
    enable: Any = getattr(backbone, "enable_gradient_checkpointing", None)
    if enable is None:
        raise ValueError(
            f"gradient_checkpointing: {type(backbone).__qualname__} has no"
            " enable_gradient_checkpointing(); give it one, or choose False"
        )
    enable()
