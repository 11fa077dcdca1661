"""Observations of a batch: arrays or tensors `[N, ...]`, in nested dicts or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.envs.fitting import in_dtype


def replaced(obs: Any, other: Any, where: Any) -> Any:
    """A copy of `obs` with the rows of `other` where `where [N]` is set."""
    if hasattr(obs, "items"):
        return {name: replaced(obs[name], other[name], where) for name in obs}
    if isinstance(obs, Tensor):
        mask = where.reshape(-1, *[1] * (obs.ndim - 1))
        return torch.where(mask, other, obs)
    copy = np.array(obs)
    if where.any():
        rows = other[where]
        copy[where] = np.stack(rows) if rows.dtype == object else rows
    return copy


def copied(value: Any) -> Any:
    """Arrays and tensors, in dicts or not, in memory of their own; all else as is."""
    if hasattr(value, "items"):
        return {name: copied(child) for name, child in value.items()}
    if isinstance(value, Tensor):
        return value.clone()
    return np.array(value) if isinstance(value, np.ndarray) else value


def with_rows(obs: Any, rows: list[Any], where: np.ndarray) -> Any:
    """A copy of arrays `[N, ...]`, nested or not, with rows where `where` is set."""
    if hasattr(obs, "items"):
        return {k: with_rows(obs[k], [row[k] for row in rows], where) for k in obs}
    dense = np.array(obs)
    if rows:
        dense[where] = in_dtype(np.stack(rows), dense.dtype)
    return dense


def as_tensors(value: Any) -> Any:
    """Arrays, nested or not, as tensors that share their memory; tensors as they are.

    What is neither, None for one, stays.
    """
    if isinstance(value, Mapping):
        return {name: as_tensors(child) for name, child in value.items()}
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.require(value, requirements=("C", "W")))
    return value
