"""Groups of a model's parameters: pretrained, new, vision, frozen."""

from typing import Any

from torch import nn

from yieldrl.abstractions import Policy
from yieldrl.networks import frozen_parts


def inner_model(model: nn.Module) -> nn.Module:
    """The model inside a policy that has one; any other model unchanged."""
    inside: Any = getattr(model, "model", model)
    return inside if isinstance(model, Policy) else model


def vision_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The `vision_parameters()` of a model or of its backbone; empty without any."""
    owners: Any = getattr(model, "backbone", model), model
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
        rate = getattr(config, fields.get(name, "learning_rate"))
        if groups.get(name):
            rate = config.learning_rate if rate is None else rate
            trained.append({"params": groups[name], "lr": rate})
        elif name in fields and rate is not None:
            raise config.error(
                fields[name],
                f"the model {type(model).__name__} has no group of trainable parameters"
                f" called {name!r}: leave it at None, or let its parameter_groups()"
                " return one",
            )
    return trained


def freeze_vision(model: nn.Module) -> nn.Module:
    """Freeze the vision encoder: no gradients, eval mode."""
    parameters = vision_parameters(model)
    if not parameters:
        raise ValueError(
            f"freeze_vision: {type(model).__qualname__} does not say which parameters"
            " are its vision encoder's; give it a method vision_parameters()"
        )
    for parameter in parameters:
        parameter.requires_grad_(False)
    for part in frozen_parts(model):
        part.eval()
    return model
