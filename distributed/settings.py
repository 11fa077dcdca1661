"""Settings of an algorithm that a program may change between two updates."""

from collections.abc import Mapping
from typing import Any

from torch.optim import Optimizer

PLAIN = (bool, int, float, str, type(None))


def settings_of(algorithm: Any) -> dict[str, Any]:
    """An algorithm's numbers and strings, optimizer options, and trained parameters."""
    attributes = vars(algorithm)
    optimizers = {k: v for k, v in attributes.items() if isinstance(v, Optimizer)}
    return {
        "plain": {k: v for k, v in attributes.items() if isinstance(v, PLAIN)},
        "groups": {
            name: [_options(group) for group in optimizer.param_groups]
            for name, optimizer in optimizers.items()
        },
        "trained": {k: p.requires_grad for k, p in algorithm.model.named_parameters()},
    }


def apply(settings: Mapping[str, Any], algorithm: Any) -> None:
    """Give an algorithm the settings of another one.

    Raises:
        ValueError: If its optimizers have other groups, or its model other parameters.
    """
    for name, value in settings["plain"].items():
        setattr(algorithm, name, value)
    for name, groups in settings["groups"].items():
        optimizer = getattr(algorithm, name)
        for own, options in zip(optimizer.param_groups, groups, strict=True):
            own.update(options)
    parameters = dict(algorithm.model.named_parameters())
    if parameters.keys() != settings["trained"].keys():
        name = min(parameters.keys() ^ settings["trained"].keys())
        raise ValueError(
            f"the models of learners differ in {name}: make the trainer with the model"
            " that is to be trained"
        )
    for name, trained in settings["trained"].items():
        if parameters[name].requires_grad != trained:
            parameters[name].requires_grad_(trained)


def _options(group: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a parameter group: all entries but the parameters."""
    return {name: value for name, value in group.items() if name != "params"}
