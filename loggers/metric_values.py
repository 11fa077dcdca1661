"""Metrics as numbers; tensors on a device are read in one synchronization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def read(logs: Mapping[str, float | Tensor]) -> dict[str, float]:
    """All values as floats; ValueError if one is not a single number."""
    return dict(zip(logs, floats(logs.items()), strict=True))


def total(name: str, values: Sequence[Any]) -> Any:
    """The sum: a float, or a 0-dim tensor if some values are on a device."""
    number = 0.0
    elsewhere: list[tuple[str, Tensor]] = []
    for value in values:
        if getattr(value, "is_cpu", True):
            number += _number(name, value)
        else:
            elsewhere.append((name, value))
    if not elsewhere:
        return number
    import torch

    stack = _stack(elsewhere)
    return stack.sum(dtype=torch.promote_types(stack.dtype, torch.float32)) + number


def product(name: str, value: Any, episodes: Any) -> Any:
    """The product; in double precision if both are on the CPU."""
    if getattr(value, "is_cpu", True) and getattr(episodes, "is_cpu", True):
        return _number(name, value) * _number("episodes", episodes)
    return value * episodes


def floats(values: Iterable[tuple[str, Any]]) -> list[float]:
    """Named values as floats."""
    found: list[Any] = []
    waiting: dict[Any, list[tuple[int, str, Tensor]]] = {}
    for index, (name, value) in enumerate(values):
        found.append(value)
        if getattr(value, "is_cpu", True):
            found[index] = _number(name, value)
        else:
            waiting.setdefault(value.device, []).append((index, name, value.detach()))
    for there in waiting.values():
        numbers = _stack([(name, value) for _, name, value in there]).tolist()
        for (index, _, _), number in zip(there, numbers, strict=True):
            found[index] = float(number)
    return found


def _number(name: str, value: Any) -> float:
    if getattr(value, "requires_grad", False):
        value = value.detach()
    try:
        return float(value)
    except (RuntimeError, TypeError, ValueError):
        raise _not_one_number(name, value) from None


def _stack(values: Sequence[tuple[str, Tensor]]) -> Tensor:
    import torch

    for name, value in values:
        if value.ndim and value.numel() != 1:
            raise _not_one_number(name, value)
    return torch.stack([value.reshape(()) for _, value in values])


def _not_one_number(name: str, value: Any) -> ValueError:
    got = list(value.shape) if hasattr(value, "shape") else repr(value)
    return ValueError(
        f"logs[{name!r}] is not one number but {got}: log for example its mean"
    )
