"""A step of a world compiled for its device."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched.tree import layout, tree_map
from yieldrl.foundations import compile_cache
from yieldrl.speed import pytorch
from yieldrl.speed.guards import GuardedCode

_STATE = 0  # position of the state in `pure_step`'s arguments and results
_FLAGS = (2, 5, 6)  # positions of bools in the results
_OBSERVATIONS = (3, 7)


class CompiledStep:
    """`pure_step` of N worlds under `torch.compile`, separately for each instance.
    Guards cover all that the step reads, so later changes of parameters or methods take
    effect."""

    def __init__(self, world: Any) -> None:
        self._step: Callable[..., Any] = world.pure_step
        self._cpp_wrapper = world.many_tensors and world.device.type == "cpu"
        self._num_envs, self._space = world.num_envs, world.single_observation_space
        self._code: GuardedCode | None = None
        # Results to view as another dtype; None before the first step.
        self._views: list[tuple[int, Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State for a copy, which compiles its own step."""
        return {**vars(self), "_code": None, "_views": None}

    def __call__(self, *tensors: Any) -> list[Any]:
        if self._code is None or self._code.changed():
            self._code = self._compiled()
        answer = self._code.call(*tensors)
        if self._views is None:
            self._views = self._views_of(answer, tensors[_STATE])
        for i in _FLAGS:
            answer[i] = answer[i].view(torch.bool)
        for i, kind in self._views:
            answer[i] = tree_map(_viewed_as, answer[i], kind)
        return answer

    def _views_of(self, answer: list[Any], state: Any) -> list[tuple[int, Any]]:
        """Positions, dtypes and shapes of results that are returned as bytes."""
        obs = create_empty_array(self._space, self._num_envs)
        obs = tree_map(lambda x: torch.from_numpy(x).to("meta"), obs)
        wanted = {_STATE: state, **dict.fromkeys(_OBSERVATIONS, obs)}
        return [
            (i, tree_map(lambda x: (x.dtype, x.shape), like))
            for i, like in wanted.items()
            if layout(answer[i]) != layout(like)
        ]

    def _compiled(self) -> GuardedCode:
        """The step with flags as bytes, compiled at the first call."""
        compile_cache.prepare()
        pure_step = self._step
        # Guards already check the sizes.
        options = {"size_asserts": False, "cpp_wrapper": self._cpp_wrapper}
        generate = partial(pytorch.generated, **options)

        def step_in_bytes(*tensors: Any) -> list[Any]:
            return [tree_map(_in_bytes, part) for part in pure_step(*tensors)]

        return GuardedCode(step_in_bytes, generate, dynamic=False)


def _in_bytes(x: Tensor) -> Tensor:
    """Flags as bytes: on a CPU, compiled code takes 5 to 8 ns to store a bool, almost
    nothing for a byte. For three flags, that is a third of CartPole's step."""
    return x.to(torch.int32).to(torch.int8) if x.dtype == torch.bool else x


def _viewed_as(x: Tensor, kind: tuple[torch.dtype, torch.Size]) -> Tensor:
    dtype, shape = kind
    return x if x.dtype == dtype else x.view(dtype).view(shape)
