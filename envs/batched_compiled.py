"""A step of `TorchVectorEnv` (always `envs`) compiled for the device."""

from __future__ import annotations

import copy
import itertools
import types
from typing import Any

import torch
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched_support import layout, tree_map

_NAMES = itertools.count()
_STATE = 0  # where it is in what `pure_step` takes and answers
_FLAGS = (2, 5, 6)  # where it answers bools
_OBSERVATIONS = (3, 7)


class CompiledPureStep:
    """`pure_step` compiled, apart from the same method of other instances.

    PyTorch keeps compiled variants with the code object, eight at most, and all
    environments share this code: with copies of their own they do not compete. It also
    remembers shapes by the function's name, and takes those for dynamic that differ:
    so each gets a name of its own (dynamic=False would cost a tenth of the step). What
    is no tensor (the time limit, the autoreset mode) is fixed at the first step.

    What the first inputs need is compiled ahead and called directly: for 1024 carts
    that saves a fifth of the step, which goes into finding compiled code again. Other
    inputs (gradients, constants that were replaced by others) take the usual way.
    """

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self._in_bytes: Any = None  # compiled in the usual way, at the first step
        self._first: Any = None  # what was compiled for the first inputs
        self._fits: Any = None  # whether others are of their kind
        # To make of its answers; None before the first step.
        self._views: list[tuple[int, Any]] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledPureStep:
        """For a copy of the environments, which compiles for itself."""
        return CompiledPureStep(copy.deepcopy(self._envs, memo))

    def __call__(self, *tensors: Any) -> list[Any]:
        if self._views is None:
            self._views = self._begin(tensors)
        fits = self._fits({"envs": self._envs, "tensors": tensors})
        answer = (self._first if fits else self._in_bytes)(*tensors)
        for i in _FLAGS:
            answer[i] = answer[i].view(torch.bool)
        for i, kind in self._views:
            answer[i] = tree_map(_viewed_as, answer[i], kind)
        return answer

    def _begin(self, tensors: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """Compile for inputs like these; the views to make of the answers."""
        from torch._dynamo import config  # slow to import, and only needed to compile

        self._in_bytes = self._compiled()
        try:
            with config.patch(record_runtime_overhead=False):
                ahead = self._in_bytes.aot_compile((tensors, {}))
        except Exception:  # a young part of PyTorch, which cannot do float64 numbers
            self._first, self._fits = self._in_bytes, lambda _: True
        else:  # its own look at the guards takes as long as all of this saves
            self._first, self._fits = ahead.fn, ahead._artifacts.guard_manager.check
        envs = self._envs
        seen = create_empty_array(envs.single_observation_space, envs.num_envs)
        seen = tree_map(lambda x: torch.from_numpy(x).to("meta"), seen)
        answer = self._first(*tensors)
        wanted = {_STATE: tensors[_STATE], **dict.fromkeys(_OBSERVATIONS, seen)}
        return [
            (i, tree_map(_kind, like))
            for i, like in wanted.items()
            if layout(answer[i]) != layout(like)
        ]

    def _compiled(self) -> Any:
        """The step as a function of its own, with its flags as bytes."""
        envs = self._envs

        def step_in_bytes(*tensors: Any) -> list[Any]:
            return [tree_map(_in_bytes, part) for part in envs.pure_step(*tensors)]

        name = f"step_in_bytes_{next(_NAMES)}"
        code = step_in_bytes.__code__.replace(co_name=name)
        own = types.FunctionType(code, globals(), name, None, step_in_bytes.__closure__)
        options: dict[str, Any] = {
            "guard_filter_fn": _tensors_and_modes,
            "size_asserts": False,  # those guards look at the sizes already
            "cpp_wrapper": envs.many_tensors and envs.device.type == "cpu",
        }
        return torch.compile(own, fullgraph=True, options=options)


def _in_bytes(x: Tensor) -> Tensor:
    """Flags as bytes: compiled for a CPU, storing a bool takes 5 to 8 ns, storing a
    byte next to nothing. With three of them, that is a third of CartPole's step."""
    return x.to(torch.int32).to(torch.int8) if x.dtype == torch.bool else x


def _kind(x: Tensor) -> tuple[torch.dtype, torch.Size]:
    return x.dtype, x.shape


def _viewed_as(x: Tensor, kind: tuple[torch.dtype, torch.Size]) -> Tensor:
    """The bytes of a tensor as another of this dtype and shape."""
    dtype, shape = kind
    return x if x.dtype == dtype else x.view(dtype).view(shape)


def _tensors_and_modes(guards: Any) -> list[bool]:
    """What to look at before each call: tensors, and whether gradients are wanted."""
    kinds = ("TENSOR_MATCH", "GRAD_MODE", "GLOBAL_STATE")
    return [guard.guard_type in kinds for guard in guards]
