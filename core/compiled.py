"""A function of tensors under `torch.compile`, for configs that say `compile=True`."""

import inspect
import logging
from collections.abc import Callable
from typing import Any

import torch

log = logging.getLogger("yieldrl.compile")

GRAPHS = ("cuda",)
"""Types of devices for which CUDA graphs are recorded too."""

ISOLATES = "isolate_recompiles" in inspect.signature(torch.compile).parameters
"""Whether PyTorch can leave out what other trainers compile, where it counts how often
it compiles; before 2.13 it counts by the code of a function."""

OPTIONS = {"cpp.use_decompose_tanh": True}  # of PyTorch's compiler: tanh by exp


class Compiled:
    """A function that PyTorch compiles whole, at its first call.

    PyTorch guards what the function read when it was compiled: shapes, dtypes, numbers,
    modules, closures. Where one of these has changed, it compiles the function again,
    as for a last minibatch that is smaller; a line in the log `yieldrl.compile` says so
    each time. Its guards do not see that a method of a class is replaced, or an
    environment variable. Results differ from the function's in their last digits.

    Args:
        name: What the function does, for the log.
        function: Of tensors, nested tensors and plain values.

    Raises:
        RuntimeError: At the first call, if PyTorch cannot compile it; it says why.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self._times = 0
        self._code: Any = None

    def __call__(self, *args: Any) -> Any:
        """The result of the compiled function."""
        if self._code is None:
            compiled: Any = torch.compile
            options = {"fullgraph": True, "backend": self._backend}
            if ISOLATES:
                self._code = compiled(self.function, isolate_recompiles=True, **options)
            else:
                self._code = compiled(with_own_code(self.function), **options)
        try:
            return self._code(*args)
        except Exception as error:
            from torch._dynamo.exc import TorchDynamoException  # takes a second

            if not isinstance(error, TorchDynamoException):
                raise
            reason = str(error).strip().partition("\n\n")[0]
            raise RuntimeError(
                f"compile=True: PyTorch cannot compile the {self.name}: {reason}. Write"
                " it with tensors alone, or leave compile off"
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy, which compiles for itself."""
        return {**vars(self), "_code": None, "_times": 0}

    def _backend(self, graph: Any, inputs: Any) -> Any:
        """PyTorch's own backend, which a line in the log says."""
        self._times += 1
        again = " again, for other shapes or values" if self._times > 1 else ""
        log.warning("%s: PyTorch compiles it%s", self.name, again)
        return lookup_backend("inductor")(graph, inputs, config_patches=OPTIONS)


def with_own_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called by code that nothing else has: by it an older PyTorch counts
    how often it compiles."""

    def call(*args: Any) -> Any:
        return function(*args)

    call.__code__ = call.__code__.replace(co_name=f"call_{id(function)}")
    return call


def lookup_backend(name: str) -> Callable[..., Any]:
    """One of PyTorch's backends, as its guide to backends of one's own finds them."""
    return torch._dynamo.lookup_backend(name)
