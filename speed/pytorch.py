"""What is used of PyTorch beyond its public names, in one place (seen in 2.13)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch

SETTINGS: dict[str, Any] = {
    "trace_autograd_ops": True,  # gradients are part of what is compiled
    "skip_nnmodule_hook_guards": False,  # a hook that comes later must be seen
    "use_numpy_random_stream": True,  # by default NumPy's numbers become PyTorch's
    # Weights that become one tensor, or two, must be seen.
    "skip_no_tensor_aliasing_guards_on_parameters": False,
    "automatic_dynamic_local_pgo": False,  # sizes of earlier processes are not kept
}
"""Of `torch._dynamo.config`, in this thread, while code is called or compiled."""

OPTIONS: dict[str, Any] = {
    "fallback_random": True,  # the random numbers that eager PyTorch draws
    "cpp.use_decompose_tanh": True,  # by exp: a fifth of a narrow network's step
}
"""Of the code generator: names of `torch._inductor.config`."""


def generator(*, gpu: bool) -> dict[str, Any]:
    """What generates code, as arguments of `torch.compile`."""
    # Kernels are called from C++, or recorded: from Python, narrow ones take longer.
    return {"options": OPTIONS | {"cpp_wrapper": not gpu, "triton.cudagraphs": gpu}}


@cache
def settings() -> AbstractContextManager[Any]:
    """A context in which functions are compiled with `SETTINGS`, to be used again."""
    from torch._dynamo import config  # imported by the first that compiles

    return config.patch(**SETTINGS)


def compile_error() -> type[Exception]:
    """The base class of what the compiler raises where it cannot compile."""
    from torch._dynamo.exc import TorchDynamoException

    return TorchDynamoException


def graphs_compiled() -> int:
    """How many graphs this process has compiled so far."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def recompile_reason() -> str:
    """The guard that failed before the latest compilation; empty if none did."""
    from torch._dynamo.utils import get_compilation_metrics

    metrics = get_compilation_metrics()
    return (metrics[-1].recompile_reason or "") if metrics else ""


def is_watched() -> bool:
    """Whether a mode looks at every operation: within it nothing can be compiled."""
    return torch._C._len_torch_dispatch_stack() > 0


def settable(parameters: Sequence[Any]) -> bool:
    """Whether `grad` can be set: no hook waits for it, and there is none yet."""
    return not any(
        p.grad is not None or p._backward_hooks or p._post_accumulate_grad_hooks
        for p in parameters
    )
