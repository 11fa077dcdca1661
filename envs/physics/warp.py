"""MuJoCo Warp's physics: all worlds of a batch in the kernels of a GPU."""

# pyright: reportAttributeAccessIssue=false, reportMissingImports=false
# An optional package, with types for parts of it.

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from yieldrl.envs.physics.backend import STATE, Backend

try:
    import mujoco
    import mujoco_warp
    import warp
except ImportError as reason:
    needed = "backend = 'warp' needs mujoco-warp: pip install 'yieldrl[warp]'"
    raise ImportError(needed) from reason


class WarpBackend(Backend):
    """N worlds of one model, stepped by MuJoCo Warp in float32.

    Positions after a step agree with MuJoCo's to 1e-4, and mostly to 1e-6, but for Ant:
    where one of its feet touches the ground, they can be 1e-2 apart. Models that ask
    for the solver PGS (Humanoid), which Warp lacks, get Newton. On a GPU a substep is a
    graph of kernels, captured once and launched in PyTorch's stream, so nothing waits.

    It runs on a CPU too, slowly and after half a minute of compiling: for tests.
    """

    dtype = torch.float32

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        model, num_envs, fields, _, device = arguments
        warp.config.log_level = warp.LOG_WARNING  # not a line for every kernel
        warp.init()
        self._device = warp.device_from_torch(torch.empty(0, device=device).device)
        if model.opt.solver == mujoco.mjtSolver.mjSOL_PGS:  # which Warp lacks
            model = copy.copy(model)
            model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        with warp.ScopedDevice(self._device):
            self._model: Any = mujoco_warp.put_model(model)
            self._data: Any = mujoco_warp.make_data(model, nworld=num_envs)
        memory = lambda name: warp.to_torch(getattr(self._data, name))  # noqa: E731
        self.inputs = {name: memory(name) for name in (*STATE, "ctrl")}
        self.outputs = {name: memory(name) for name in fields}
        self._graphs: dict[Any, Any] = {}

    def vary(self, fields: Mapping[str, Tensor], where: Tensor | None = None) -> None:
        """For all worlds: to choose those in `where` would wait for the GPU."""
        self.check_open()
        with warp.ScopedDevice(self._device):
            for name in _DERIVED:
                self._expanded(name)
            for name, values in fields.items():
                self._expanded(name).view_as(values).copy_(values)
            mujoco_warp.set_const(self._model, self._data)
        self.varied = {**self.varied, **fields}

    def close(self) -> None:
        super().close()
        self._graphs.clear()
        self._model = self._data = None

    def _expanded(self, name: str) -> Tensor:
        """Memory of a field of the model with a row for each world."""
        *path, last = name.split(".")
        holder = getattr(self._model, path[0]) if path else self._model
        array = getattr(holder, last)
        values = warp.to_torch(array)
        if len(values) < self._data.nworld:
            values = values.expand(self._data.nworld, *values.shape[1:]).clone()
            setattr(holder, last, warp.from_torch(values, dtype=array.dtype))
            self._graphs.clear()  # they read where the field was
        return values

    def advance(self, count: int, substeps: int) -> None:
        for _ in range(substeps):
            self._launch(mujoco_warp.step)
        if self.has_contacts:
            self._launch(mujoco_warp.rne_postconstraint)

    def forward(self, count: int) -> None:
        self._launch(mujoco_warp.forward)

    def _launch(self, function: Any) -> None:
        with warp.ScopedDevice(self._device):
            if not self._device.is_cuda:
                function(self._model, self._data)
                return
            if function not in self._graphs:
                state = {name: x.clone() for name, x in self.inputs.items()}
                torch.cuda.synchronize()
                function(self._model, self._data)  # compiles, as a capture must not
                with warp.ScopedCapture() as capture:
                    function(self._model, self._data)
                self._graphs[function] = capture.graph
                warp.synchronize_device()
                for name, x in state.items():
                    self.inputs[name].copy_(x)
            stream = warp.stream_from_torch(torch.cuda.current_stream())
            warp.capture_launch(self._graphs[function], stream=stream)


_DERIVED = (
    "body_invweight0",
    "body_subtreemass",
    "dof_invweight0",
    "geom_aabb",
    "geom_rbound",
    "tendon_invweight0",
    "tendon_length0",
)
"""Fields that Warp derives from others in each world, and the physics read."""
