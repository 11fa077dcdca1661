"""A step of `TorchVectorEnv` (always `envs`) compiled for the device."""

from __future__ import annotations

import copy
from typing import Any

import torch
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched_support import layout, tree_map
from yieldrl.foundations import compile_cache

_STATE = 0  # where it is in what `pure_step` takes and answers
_FLAGS = (2, 5, 6)  # where it answers bools
_OBSERVATIONS = (3, 7)


class CompiledPureStep:
    """`pure_step` under `torch.compile`, apart from that of other instances.

    PyTorch guards what the step reads, tensors and plain values: parameters of the
    environments that are changed later have their effect.
    """

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self._code: Any = None
        # To make of its answers; None before the first step.
        self._views: list[tuple[int, Any]] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledPureStep:
        """For a copy of the environments, which compiles for itself."""
        return CompiledPureStep(copy.deepcopy(self._envs, memo))

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which compiles for itself."""
        return {**vars(self), "_code": None, "_views": None}

    def __call__(self, *tensors: Any) -> list[Any]:
        if self._code is None:
            self._code = self._compiled()
        answer = self._code(*tensors)
        if self._views is None:
            self._views = self._views_of(answer, tensors[_STATE])
        for i in _FLAGS:
            answer[i] = answer[i].view(torch.bool)
        for i, kind in self._views:
            answer[i] = tree_map(_viewed_as, answer[i], kind)
        return answer

    def _views_of(self, answer: list[Any], state: Any) -> list[tuple[int, Any]]:
        """Which answers are bytes of other tensors, and of which."""
        envs = self._envs
        seen = create_empty_array(envs.single_observation_space, envs.num_envs)
        seen = tree_map(lambda x: torch.from_numpy(x).to("meta"), seen)
        wanted = {_STATE: state, **dict.fromkeys(_OBSERVATIONS, seen)}
        return [
            (i, tree_map(_kind, like))
            for i, like in wanted.items()
            if layout(answer[i]) != layout(like)
        ]

    def _compiled(self) -> Any:
        """The step with its flags as bytes, compiled at its first call."""
        compile_cache.prepare()
        envs = self._envs

        def step_in_bytes(*tensors: Any) -> list[Any]:
            return [tree_map(_in_bytes, part) for part in envs.pure_step(*tensors)]

        options: dict[str, Any] = {
            "size_asserts": False,  # the guards look at the sizes already
            "cpp_wrapper": envs.many_tensors and envs.device.type == "cpu",
        }
        compiled: Any = torch.compile
        return compiled(
            step_in_bytes,
            fullgraph=True,
            dynamic=False,
            options=options,
            isolate_recompiles=True,
        )


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
