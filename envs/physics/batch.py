"""MuJoCo's physics on the CPU: all worlds of a batch in one call, on all cores."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

from __future__ import annotations

import ctypes
import os
import re
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from yieldrl.envs.physics.backend import STATE, Backend


class BatchBackend(Backend):
    """N worlds of one model, stepped by MuJoCo's own thread pool (`mjbatch.h`).

    Results are bitwise those of N `MjData`, whatever the number of threads.

    MuJoCo's Python class of the same interface cannot run `mj_rnePostConstraint`, which
    computes the contact forces `cfrc_ext`, on all worlds: hence the C interface.

    Args:
        model: The `MjModel`, which is copied.
        num_envs: N.
        fields: Names of those `MjData` fields that are wanted beside the state.
        threads: Of the pool, the caller's included; None for one per core.

    Raises:
        ImportError: If this MuJoCo is too old.
    """

    dtype = torch.float64

    def __init__(
        self, model: Any, num_envs: int, fields: Sequence[str], threads: int | None
    ) -> None:
        self._lib = _library()
        self._contacts = "cfrc_ext" in fields
        threads = min(threads or _cores(), num_envs)
        # Contact forces follow from all that a step leaves behind, which only a
        # persistent batch keeps per world.
        config = _Config(threads, self._contacts)
        error = ctypes.create_string_buffer(500)
        self._batch = self._lib.mjb_makeBatch(
            model._address, num_envs, ctypes.byref(config), error, len(error)
        )
        if not self._batch:
            raise RuntimeError(f"MuJoCo makes no batch: {error.value.decode()}")
        weakref.finalize(self, self._lib.mjb_deleteBatch, self._batch)
        self._ids = np.arange(num_envs, dtype=np.int32)
        self._run(num_envs, "mjb_reset", None, _NO_STAGE)
        rows = self._view(
            self._lib.mjb_state(self._batch),
            (num_envs, self._lib.mjb_nstate(self._batch)),
        )
        self.inputs = {name: self._columns(rows, name) for name in (*STATE, "ctrl")}
        self.outputs = self._output_views(model, num_envs, fields)

    def advance(self, count: int, substeps: int) -> None:
        """Step the first `count` worlds, and refresh their fields."""
        self._run(count, "mjb_step", substeps, _NO_STAGE)
        if self._contacts:
            forces = ctypes.cast(self._lib.mj_rnePostConstraint, ctypes.c_void_p)
            self._run(count, "mjb_apply", forces, None, 0)
            self._run(count, "mjb_forward", _NO_STAGE)  # copies the fields, no more

    def forward(self, count: int) -> None:
        """Compute the fields of the first `count` worlds without a step."""
        self._run(count, "mjb_forward", _ALL_STAGES)

    def _run(self, count: int, function: str, *arguments: Any) -> None:
        """Call a function of the library for the first `count` worlds."""
        ids = self._ids.ctypes.data
        failed = getattr(self._lib, function)(self._batch, ids, count, *arguments)
        if failed:
            messages = (self._lib.mjb_error(self._batch, i) for i in self._ids[:count])
            first = next(filter(None, messages), b"").decode()
            raise RuntimeError(f"MuJoCo failed in {failed} of {count} worlds: {first}")

    def _columns(self, rows: Tensor, name: str) -> Tensor:
        """A part of the state `[N, size]` as a view into MuJoCo's memory."""
        component, size = _COMPONENTS[name].value, ctypes.c_int()
        find = self._lib.mjb_stateComponent
        place = find(self._batch, component, ctypes.byref(size))
        first = (place - rows.data_ptr()) // rows.element_size()
        return rows[:, first : first + size.value]

    def _output_views(
        self, model: Any, num_envs: int, fields: Sequence[str]
    ) -> dict[str, Tensor]:
        template = mujoco.MjData(model)
        return {
            name: self._view(
                self._lib.mjb_output(self._batch, name.encode(), None, None),
                (num_envs, *getattr(template, name).shape),
            )
            for name in fields
        }

    @staticmethod
    def _view(address: int, shape: tuple[int, ...]) -> Tensor:
        pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
        return torch.from_numpy(np.ctypeslib.as_array(pointer, shape))


class _Config(ctypes.Structure):
    """`mjBatchConfig`."""

    _fields_ = (("nthread", ctypes.c_int), ("persistent", ctypes.c_bool))


_COMPONENTS = {
    "qpos": mujoco.mjtState.mjSTATE_QPOS,
    "qvel": mujoco.mjtState.mjSTATE_QVEL,
    "qacc_warmstart": mujoco.mjtState.mjSTATE_WARMSTART,
    "ctrl": mujoco.mjtState.mjSTATE_CTRL,
}
_NO_STAGE, _ALL_STAGES = 0, 3  # of mjtStage: a plain step, and all of mj_forward


def _cores() -> int:
    """Those that this process may use."""
    may = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(may(0)) if may else os.cpu_count() or 1


@cache
def _library() -> Any:
    """MuJoCo's shared library, which its Python package has loaded already."""
    folder = Path(mujoco.__file__).parent
    names = re.compile(r"(lib)?mujoco[\d.]*\.(so|dylib|dll)[\d.]*")
    files = [file for file in folder.iterdir() if names.fullmatch(file.name)]
    lib = ctypes.CDLL(str(files[0])) if files else None
    if not hasattr(lib, "mjb_makeBatch"):
        raise ImportError(
            f"mujoco {mujoco.__version__} cannot step batches: pip install"
            ' "mujoco>=3.17"'
        )
    number, address, text = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
    chosen = (address, address, number)  # the batch, ids of worlds and their count
    signatures: dict[str, tuple[Any, ...]] = {
        "mjb_makeBatch": (address, address, number, address, text, number),
        "mjb_deleteBatch": (None, address),
        "mjb_error": (text, address, number),
        "mjb_nstate": (number, address),
        "mjb_state": (address, address),
        "mjb_stateComponent": (address, address, number, address),
        "mjb_output": (address, address, text, address, address),
        "mjb_reset": (number, *chosen, address, number),
        "mjb_forward": (number, *chosen, number),
        "mjb_step": (number, *chosen, number, number),
        # Its function is told of the model, the data, the world's number and `arg`.
        # mj_rnePostConstraint takes the first two, and where MuJoCo runs a C function
        # does not notice arguments that it is given beyond its own.
        "mjb_apply": (number, *chosen, address, address, number),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib
