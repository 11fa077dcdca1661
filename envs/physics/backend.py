"""Interface of physics simulators, used by the environments."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from gymnasium.error import ClosedEnvironmentError
from torch import Tensor

State = dict[str, Tensor]
"""`qpos`, `qvel` and `qacc_warmstart`, and the fields of `MjData` that the rewards and
observations are made of. The axes are MuJoCo's, with that of the worlds as the last."""

STATE = ("qpos", "qvel", "qacc_warmstart")
"""The state that a step of these models needs, besides `ctrl`. The solver starts from
the last step's accelerations; without them, Humanoid's would differ by 1e-5."""


class Backend:
    """Steps N worlds of one model, without rewards.

    The caller keeps the states; a backend only has memory for them, `inputs` and
    `outputs`, as tensors `[N, ...]` by name. Arguments are the `MjModel`, N, the
    `MjData` fields to compute besides the state, threads on the CPU (None for one per
    core), and the device.
    """

    dtype: torch.dtype
    varied: Mapping[str, Tensor] = MappingProxyType({})  # fields set by `vary`
    inputs: dict[str, Tensor]  # entries of STATE, and `ctrl`
    outputs: dict[str, Tensor]  # the fields

    def __init__(
        self,
        model: Any,
        num_envs: int,
        fields: Sequence[str],
        threads: int | None,
        device: str | torch.device,
    ) -> None:
        self.has_contacts = "cfrc_ext" in fields

    def advance(self, count: int, substeps: int) -> None:
        """Step the first `count` worlds, and update their fields."""
        raise NotImplementedError(f"{type(self)} lacks advance(count, substeps)")

    def forward(self, count: int) -> None:
        """Compute the fields of the first `count` worlds without a step."""
        raise NotImplementedError(f"{type(self)} lacks forward(count)")

    def vary(self, fields: Mapping[str, Tensor], where: Tensor | None = None) -> None:
        """Set fields of the model, `[N, ...]` by name, for each world, and update the
        quantities that MuJoCo derives from them. The mask `where` `[N]` marks changed
        worlds; None means that all may have changed."""
        raise NotImplementedError(f"{type(self)} lacks vary(fields, where)")

    def close(self) -> None:
        """Free all memory; worlds cannot be stepped any more."""
        self.inputs = self.outputs = {}

    def check_open(self) -> None:
        """Raise ClosedEnvironmentError after `close`."""
        if not self.inputs:
            raise ClosedEnvironmentError("these worlds are closed: make new ones")

    def step(self, state: Mapping[str, Tensor], ctrl: Tensor, substeps: int) -> State:
        """The state after `substeps` with constant controls `[N, nu]`. As after
        `mj_step`, the fields belong to the state before the last substep."""
        count = self._write(state, ctrl)
        self.advance(count, substeps)
        return self._read(count, (*STATE, *self.outputs))

    def fields(self, state: Mapping[str, Tensor]) -> State:
        """The fields in up to N first states, without controls or contact forces."""
        self.check_open()
        if not self.outputs:
            return {}
        count = self._write(state, torch.zeros(()))
        self.forward(count)
        fields = self._read(count, self.outputs)
        if self.has_contacts:  # gymnasium computes them only after steps
            fields["cfrc_ext"] = torch.zeros_like(fields["cfrc_ext"])
        return fields

    def _write(self, state: Mapping[str, Tensor], ctrl: Tensor) -> int:
        self.check_open()
        count = state["qpos"].shape[-1]
        for name in STATE:
            self.inputs[name][:count] = state[name].T
        self.inputs["ctrl"][:count] = ctrl
        return count

    def _read(self, count: int, names: Iterable[str]) -> State:
        """Copies with the axis of worlds moved from first to last."""
        memory = {**self.inputs, **self.outputs}
        return {name: memory[name][:count].clone().movedim(0, -1) for name in names}
