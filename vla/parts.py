"""Which parameters of a model are which."""

from __future__ import annotations

from typing import Any

from torch import nn


def backbone_of(model: nn.Module) -> nn.Module:
    """The pretrained network inside a model: its `backbone`, or all of it."""
    backbone = getattr(model, "backbone", model)
    assert isinstance(backbone, nn.Module)
    return backbone


def vision_parameters(root: nn.Module) -> list[nn.Parameter]:
    """The parameters of a backbone's vision encoder; none if it does not say."""
    method: Any = getattr(root, "vision_parameters", list)
    return list(method())


def freeze_vision(model: nn.Module) -> nn.Module:
    """Leave the vision encoder as it is: no gradients are computed in it any more.

    Raises:
        ValueError: If the model does not say which parameters see.
    """
    root = backbone_of(model)
    if not hasattr(root, "vision_parameters"):
        raise ValueError(
            f"freeze_vision: {type(root).__qualname__} does not say which parameters"
            " are its vision encoder's; give it a method vision_parameters()"
        )
    for parameter in vision_parameters(root):
        parameter.requires_grad_(False)
    return model


def enable_gradient_checkpointing(model: nn.Module) -> None:
    """Let a backbone compute hidden states anew for gradients, instead of keeping them.

    Raises:
        ValueError: If it cannot.
    """
    backbone = backbone_of(model)
    enable: Any = getattr(backbone, "enable_gradient_checkpointing", None)
    if enable is None:
        raise ValueError(
            f"gradient_checkpointing: {type(backbone).__qualname__} has no"
            " enable_gradient_checkpointing(); give it one, or choose False"
        )
    enable()
