"""Attributes of `TorchVectorEnv` (always `envs`), seen one environment at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def parameter(envs: Any, name: str, value: Any) -> Tensor:
    """A constant as a tensor `[]` or `[N]`; it keeps its graph if it has one."""
    value = torch.as_tensor(value, dtype=envs.dtype, device=envs.device)
    if value.shape not in ((), (envs.num_envs,)):
        got, n = list(value.shape), envs.num_envs
        raise ValueError(f"{name} has the shape {got}: give one number, or {n} of them")
    return value


def parameter_names(envs: Any) -> tuple[str, ...]:
    """Attributes that are a float for all, or one for each, but for first states."""
    first = {"state", *envs.reset_parameters.values()}
    return tuple(
        name
        for name, value in vars(envs).items()
        if isinstance(value, Tensor)
        and value.is_floating_point()
        and value.shape in ((), (envs.num_envs,))
        and name not in first
        and not name.startswith("_")
    )


def set_parameters(envs: Any, values: Mapping[str, Any], where: Tensor | None) -> None:
    """Replace parameters, by new tensors, where `where` `[N]` is set.

    Raises:
        ValueError: If a name is unknown, or a value of a wrong shape.
    """
    check_parameters(envs, values)
    new = {name: parameter(envs, name, value) for name, value in values.items()}
    for name, value in new.items():
        old = getattr(envs, name)
        setattr(envs, name, value if where is None else torch.where(where, value, old))


def check_parameters(envs: Any, values: Mapping[str, Any]) -> None:
    """Raise ValueError if the environments lack one of the parameters."""
    known = envs.parameter_names
    unknown = sorted(values.keys() - set(known))
    if unknown:
        raise ValueError(f"no parameters {unknown}: there are {list(known)}")


def per_environment(envs: Any, value: Any) -> tuple[Any, ...]:
    """What each of the N environments has of a value, as in `gymnasium.vector`.

    Of tensors `[..., N]`, and of dicts of them, it is a column; of everything else, and
    of numbers that are one for all, the value itself.
    """
    n = envs.num_envs
    if isinstance(value, Mapping):
        columns = {key: per_environment(envs, child) for key, child in value.items()}
        return tuple({key: columns[key][i] for key in columns} for i in range(n))
    if not isinstance(value, Tensor):
        return (value,) * n
    if value.ndim == 0:
        return (value.item(),) * n
    if value.shape[-1] != n:
        return (value,) * n
    return tuple(value.tolist() if value.ndim == 1 else value.movedim(-1, 0).unbind())


def set_attribute(envs: Any, name: str, values: Any) -> None:
    """Replace an attribute: a parameter by N numbers or one, others by one for all.

    Raises:
        AttributeError: If there is no such attribute.
        ValueError: If the environments would need values of their own, and share it.
    """
    old = getattr(envs, name)
    if isinstance(old, Tensor) and old.shape in ((), (envs.num_envs,)):
        values = values if isinstance(values, Tensor) else torch.as_tensor(values)
        setattr(envs, name, envs.parameter(name, values.to(old)))
        return
    several = isinstance(values, list | tuple) and len(values) == envs.num_envs
    if several and any(value != values[0] for value in values):
        raise ValueError(
            f"{name} = {values}: all {envs.num_envs} environments share one {name};"
            " parameters that are tensors can differ"
        )
    setattr(envs, name, values[0] if several else values)
