"""All uses of PyTorch's private names, in one place (as of 2.13)."""

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from types import CodeType
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.module import _has_any_global_hook
from torch.optim.optimizer import (
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
)

SETTINGS: dict[str, Any] = {
    "trace_autograd_ops": True,  # compile the backward pass too
    "skip_nnmodule_hook_guards": False,  # guard against hooks added later
    "use_numpy_random_stream": True,  # else PyTorch replaces NumPy's generator
    # Guard against weights that become tied or untied.
    "skip_no_tensor_aliasing_guards_on_parameters": False,
    "automatic_dynamic_local_pgo": False,  # do not reuse sizes of earlier processes
}
"""Of `torch._dynamo.config`, while code is called or compiled."""

_OF_THREAD = threading.local()

OPTIONS: dict[str, Any] = {
    "fallback_random": True,  # same random numbers as eager PyTorch
    "cpp.use_decompose_tanh": True,  # tanh by exp: saves 20 % of a small step
}
"""Of the code generator: names of `torch._inductor.config`."""


def generated(graph: Any, inputs: Any, **options: Any) -> Callable[..., Any]:
    """The code of a graph, by PyTorch's own generator with some options."""
    from torch import _inductor

    generate: Any = _inductor.compile
    return generate(graph, inputs, options)


def traced_code() -> list[CodeType]:
    """Of all functions that became part of the graph that is compiled now."""
    from torch._dynamo.utils import get_traced_code

    return get_traced_code() or []


def with_settings(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function where `SETTINGS` hold, in a context that each thread keeps."""
    if not hasattr(_OF_THREAD, "context"):  # setting them at each call is slow
        from torch._dynamo import config  # imported only when something is compiled

        _OF_THREAD.context = copy_context()
        _OF_THREAD.context.run(config.patch(**SETTINGS).__enter__)
    return _OF_THREAD.context.run(function, *args)


def compile_error() -> type[Exception]:
    """The base class of what the compiler raises where it cannot compile."""
    from torch._dynamo.exc import TorchDynamoException

    return TorchDynamoException


def graphs_compiled() -> int:
    """The number of graphs that this process has compiled so far."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def recompile_reason() -> str:
    """The guard that failed before the latest compilation; empty if none did."""
    from torch._dynamo.utils import get_compilation_metrics

    metrics = get_compilation_metrics()
    return (metrics[-1].recompile_reason or "") if metrics else ""


def is_watched() -> bool:
    """Whether something looks at every operation or module, which code does not call.

    Modes do the one, PyTorch's global hooks of modules the other.
    """
    return torch._C._len_torch_dispatch_stack() > 0 or bool(_has_any_global_hook())


def settable(parameters: Sequence[Any]) -> bool:
    """Whether `grad` can be set: there is none yet, and no hook on it."""
    return not any(
        p.grad is not None or p._backward_hooks or p._post_accumulate_grad_hooks
        for p in parameters
    )


def has_step_hooks(optimizer: Any) -> bool:
    """Whether something is called before or after the steps of an optimizer."""
    return bool(
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _global_optimizer_pre_hooks
        or _global_optimizer_post_hooks
    )


def adam_kernel(*, decoupled: bool) -> Callable[..., None]:
    """Adam's fused update of lists of tensors; `decoupled` is AdamW's weight decay."""
    return torch._fused_adamw_ if decoupled else torch._fused_adam_  # pyright: ignore[reportPrivateImportUsage]


def count_steps(steps: list[Tensor]) -> None:
    """Add one to each of an optimizer's counts of steps, in place."""
    torch._foreach_add_(steps, 1)  # pyright: ignore[reportPrivateImportUsage]


def said_by(error: Exception) -> str:
    """The first line of an error's message, and the line of code that it names."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0][:200].rstrip(".") if lines else type(error).__name__
    places = [line for line in lines if line.startswith('File "')]
    return f"{first} ({places[-1]})" if places else first
