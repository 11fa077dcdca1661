"""Groups of a model's parameters: pretrained, new, vision, frozen."""

from collections.abc import Sequence
from typing import Any, Self

from torch import nn

from yieldrl.networks import frozen_parts


def backbone_of(model: nn.Module) -> nn.Module:
    """The pretrained network inside a model: its `backbone`, or all of it."""
    backbone = getattr(model, "backbone", model)
    if not isinstance(backbone, nn.Module):
        raise TypeError(
            f"{type(model).__qualname__}.backbone is a {type(backbone).__qualname__}:"
            " make it the nn.Module that is pretrained, or give it another name"
        )
    return backbone


def inner_model(model: nn.Module) -> nn.Module:
    """The model inside a `VLAPolicy`; any other model unchanged."""
    inside: Any = getattr(model, "model", model)
    return inside if getattr(model, "wraps_model", False) else model


def untrained_parts(root: nn.Module) -> dict[str, nn.Module | nn.Parameter]:
    """The parts that a network lists in `untrained`: no checkpoint holds them."""
    found: dict[str, Any] = {}
    for name in getattr(root, "untrained", ()):
        owner, _, leaf = name.rpartition(".")
        try:
            part = getattr(root.get_submodule(owner), leaf)
        except AttributeError:
            part = ""
        if not isinstance(part, (nn.Module, nn.Parameter, type(None))):
            raise ValueError(
                f"{type(root).__qualname__}.untrained names {name!r}, which is neither"
                " a module nor a parameter of it"
            )
        if part is not None:  # None: an optional part that is absent
            found[name] = part
    return found


def vision_parameters(root: nn.Module) -> list[nn.Parameter]:
    """The backbone's `vision_parameters()`; empty if it has no such method."""
    method: Any = getattr(root, "vision_parameters", list)
    return list(method())


def check_named(model: nn.Module, layers: Sequence[str]) -> None:
    """Refuse a model that does not say which parameters outside the layers are new."""
    inside = tuple(f"{name}." for name in layers)
    names = [name for name, _ in model.named_parameters()]
    others = [name for name in names if not name.startswith(inside)]
    if others and not hasattr(model, "untrained"):
        name = type(model).__qualname__
        tops = list(dict.fromkeys(name.partition(".")[0] for name in others))
        raise ValueError(
            f"lora_rank: {name} has no attribute backbone, so nothing says which of its"
            f" parts are pretrained, and stay as they are beside adapters: give {name}"
            " an attribute untrained, a tuple of the names of those that are new and"
            f" trained in full (of {', '.join(tops)}: value heads, say, and log_std);"
            " or put what is pretrained into self.backbone"
        )


def is_linear(layer: Any) -> bool:
    """Whether it is a linear layer; GPT-2 has them as transformers' `Conv1D`."""
    kind = type(layer)
    conv1d = kind.__name__ == "Conv1D" and kind.__module__.startswith("transformers.")
    return isinstance(layer, nn.Linear) or conv1d


def optimizer_groups(model: nn.Module, config: Any) -> list[dict[str, Any]]:
    """A model's `parameter_groups`, if it has any, with the learning rates of a config;
    ValueError for the rate of a group that the model lacks."""
    groups = {"policy": [p for p in model.parameters() if p.requires_grad]}
    if (own := getattr(model, "parameter_groups", None)) is not None:
        groups = own()
    fields = {"adapters": "adapter_learning_rate", "value": "value_learning_rate"}
    found: list[dict[str, Any]] = []
    for name in ("policy", *fields):
        field = fields.get(name)
        rate = None if field is None else getattr(config, field)
        if groups.get(name):
            rate = rate or config.learning_rate
            found.append({"params": groups[name], "lr": rate})
        elif rate is not None:
            raise config.error(
                field,
                f"the model {type(model).__name__} has no group of trainable parameters"
                f" called {name!r}: leave it at None, or let its parameter_groups()"
                " return one",
            )
    return found


class FrozenInEval(nn.Module):
    """Base of models whose frozen parts stay in eval mode, whoever calls `train`."""

    def train(self, mode: bool = True) -> Self:
        """Set the mode; parts without trained parameters stay in eval mode."""
        super().train(mode)
        if mode:
            for part in frozen_parts(self):
                part.eval()
        return self


def keep_in_eval(root: nn.Module) -> None:
    """Keep modules without trained parameters in eval mode, so that running statistics
    do not change."""
    for part in frozen_parts(root):
        part.eval()
        part.register_forward_pre_hook(_all_into_eval, prepend=True)
        for module in part.modules():  # each may be called by itself
            if module is not part and next(module.parameters(), None) is not None:
                module.register_forward_pre_hook(_into_eval, prepend=True)


def freeze_vision(model: nn.Module) -> nn.Module:
    """Freeze the vision encoder: no gradients, eval mode."""
    root = backbone_of(model)
    if not hasattr(root, "vision_parameters"):
        raise ValueError(
            f"freeze_vision: {type(root).__qualname__} does not say which parameters"
            " are its vision encoder's; give it a method vision_parameters()"
        )
    for parameter in vision_parameters(root):
        parameter.requires_grad_(False)
    keep_in_eval(root)
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


def _all_into_eval(part: nn.Module, _: Any) -> None:
    if any(module.training for module in part.modules()) and _is_frozen(part):
        part.eval()


def _into_eval(module: nn.Module, _: Any) -> None:
    if module.training and _is_frozen(module):
        module.eval()


def _is_frozen(module: nn.Module) -> bool:
    return not any(parameter.requires_grad for parameter in module.parameters())
