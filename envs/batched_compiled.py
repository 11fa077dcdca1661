"""A step of `TorchVectorEnv` (always `envs`) compiled for the device."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import Any

import torch
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched_support import tree_map

_NAMES = itertools.count()
_FLAGS = (2, 5, 6)  # where `pure_step` answers bools
_OBSERVATIONS = (3, 7)


def compiled(envs: Any) -> Callable[..., Any]:
    """`pure_step` compiled, apart from the same method of other instances.

    PyTorch keeps compiled variants with the code object, eight at most, and all
    environments share this code: with copies of their own they do not compete. It also
    remembers shapes by the function's name, and takes those for dynamic that differ:
    so each gets a name of its own (dynamic=False would cost a tenth of the step). What
    is no tensor (the time limit, the autoreset mode) is fixed at the first step.
    """

    def step_in_bytes(*tensors: Any) -> list[Any]:
        return [tree_map(_in_bytes, part) for part in envs.pure_step(*tensors)]

    name = f"step_in_bytes_{next(_NAMES)}"
    code = step_in_bytes.__code__.replace(co_name=name)
    own = types.FunctionType(code, globals(), name, None, step_in_bytes.__closure__)
    options: dict[str, Any] = {
        "guard_filter_fn": _tensors_and_modes,
        "size_asserts": False,  # those guards look at the sizes already
    }
    in_bytes = torch.compile(own, fullgraph=True, options=options)
    seen = create_empty_array(envs.single_observation_space, envs.num_envs)
    seen = tree_map(lambda x: torch.from_numpy(x).to("meta"), seen)

    def step(state: Any, *tensors: Any) -> list[Any]:
        answer = in_bytes(state, *tensors)
        answer[0] = tree_map(_viewed_as, answer[0], state)
        for i in _FLAGS:
            answer[i] = answer[i].view(torch.bool)
        for i in _OBSERVATIONS:
            answer[i] = tree_map(_viewed_as, answer[i], seen)
        return answer

    return step


def _in_bytes(x: Tensor) -> Tensor:
    """Flags as bytes: compiled for a CPU, storing a bool takes 5 to 8 ns, storing a
    byte next to nothing. With three of them, that is a third of CartPole's step."""
    return x.to(torch.int32).to(torch.int8) if x.dtype == torch.bool else x


def _viewed_as(x: Tensor, other: Tensor) -> Tensor:
    """The same bytes with the other's dtype and shape."""
    return x if x.dtype == other.dtype else x.view(other.dtype).view(other.shape)


def _tensors_and_modes(guards: Any) -> list[bool]:
    """What to look at before each call: tensors, and whether gradients are wanted."""
    kinds = ("TENSOR_MATCH", "GRAD_MODE", "GLOBAL_STATE")
    return [guard.guard_type in kinds for guard in guards]
