"""Optimizer steps with less overhead than PyTorch's, and equal results."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer

from yieldrl.speed import pytorch

_OF_PYTORCH = str(Path(torch.optim.__file__).parent)


def take_step(optimizer: Optimizer) -> None:
    """Do what `optimizer.step()` does, to the bit.

    For small networks, PyTorch prepares a step of Adam several times as long as its
    kernel computes. If it is plain Adam without hooks (checked in every step), the
    kernel is called directly.
    """
    calls = _kernel_calls(optimizer) if _is_plain(optimizer) else None
    if calls is None:
        optimizer.step()
        return
    with torch.no_grad():
        for kernel, tensors, options in calls:
            pytorch.count_steps(tensors[-1])
            kernel(*tensors, **options)


def drop_gradients(optimizer: Optimizer) -> None:
    """Do what `optimizer.zero_grad()` does."""
    if not _is_plain(optimizer) or "zero_grad" in vars(optimizer):
        optimizer.zero_grad()
        return
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


def _is_plain(optimizer: Optimizer) -> bool:
    """Whether it is PyTorch's Adam or AdamW, without hooks or a scheduler."""
    kind = type(optimizer)
    return (
        (kind is Adam or kind is AdamW)
        and "step" not in vars(optimizer)  # learning-rate schedulers wrap it
        and _is_pytorchs(kind.step)
        and not pytorch.has_step_hooks(optimizer)
    )


@lru_cache
def _is_pytorchs(function: Any) -> bool:
    """Whether a function, and whatever it wraps, is defined by PyTorch."""
    while function is not None:
        if not function.__code__.co_filename.startswith(_OF_PYTORCH):
            return False
        function = getattr(function, "__wrapped__", None)
    return True


def _kernel_calls(optimizer: Optimizer) -> list[tuple[Any, Any, Any]] | None:
    """The kernel and its arguments for each group; None if a step does more."""
    calls, state = [], optimizer.state
    if getattr(optimizer, "grad_scale", None) is not None:  # set by a gradient scaler
        return None
    for group in optimizer.param_groups:
        rate = group["lr"]
        if not group["fused"] or group["amsgrad"] or type(rate) is not float:
            return None
        trained = [p for p in group["params"] if p.grad is not None]
        if not all(_has_floats(p) and p in state for p in trained):
            return None  # PyTorch makes the state at the first step
        if not trained:
            continue
        own = [state[p] for p in trained]
        gradients = [p.grad for p in trained]
        means, squares, steps = (
            [x[name] for x in own] for name in ("exp_avg", "exp_avg_sq", "step")
        )
        tensors = trained, gradients, means, squares, [], steps
        beta1, beta2 = group["betas"]
        options = {
            "lr": rate,
            "beta1": beta1,
            "beta2": beta2,
            "weight_decay": group["weight_decay"],
            "eps": group["eps"],
            "amsgrad": False,
            "maximize": group["maximize"],
        }
        kernel = pytorch.adam_kernel(decoupled=group["decoupled_weight_decay"])
        calls.append((kernel, tensors, options))
    return calls


def _has_floats(parameter: Tensor) -> bool:
    return parameter.is_cpu and parameter.dtype is torch.float32
