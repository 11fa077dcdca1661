"""MuJoCo's physics on the CPU: all worlds of a batch in one call, on all cores."""

# pyright: reportAttributeAccessIssue=false
# mujoco has no types for its compiled half.

import copy
import ctypes
import re
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from yieldrl.core.device import usable_cores
from yieldrl.envs.physics.backend import STATE, Backend

_COMPONENTS = {
    "qpos": mujoco.mjtState.mjSTATE_QPOS,
    "qvel": mujoco.mjtState.mjSTATE_QVEL,
    "qacc_warmstart": mujoco.mjtState.mjSTATE_WARMSTART,
    "ctrl": mujoco.mjtState.mjSTATE_CTRL,
}
_NO_STAGE, _ALL_STAGES = 0, 3  # of mjtStage: a plain step, and all of mj_forward
_WARNINGS = list(mujoco.mjtWarning.__members__)[:-1]
_FULL = [_WARNINGS.index(f"mjWARN_{what}FULL") for what in ("CONTACT", "CNSTR")]


class _Config(ctypes.Structure):  # mjBatchConfig
    _fields_ = (("nthread", ctypes.c_int), ("persistent", ctypes.c_bool))


@cache
def _library() -> Any:
    """MuJoCo's shared library, for what its Python package leaves out."""
    folder = Path(mujoco.__file__).parent
    names = re.compile(r"(lib)?mujoco[\d.]*\.(so|dylib|dll)[\d.]*")
    files = [file for file in folder.iterdir() if names.fullmatch(file.name)]
    lib: Any = ctypes.CDLL(str(files[0])) if files else None
    if not hasattr(lib, "mjb_makeBatch"):
        got = f"mujoco {mujoco.__version__} cannot step batches"
        raise ImportError(f'{got}: pip install "mujoco>=3.17"')
    for name in ("makeBatch", "state", "stateComponent", "warning", "output", "expand"):
        getattr(lib, f"mjb_{name}").restype = ctypes.c_void_p  # others: an int
    lib.mjb_error.restype = ctypes.c_char_p
    return lib


class BatchBackend(Backend):
    """N worlds of one model, stepped by MuJoCo's own thread pool (`mjbatch.h`).

    Results are bitwise those of N `MjData`, whatever the number of threads. MuJoCo's
    stopwatches (`MjData.timer`), which cost a sixth of a step, stand still from then on
    in the whole process, unless another clock was installed. The Python class of this C
    interface cannot compute contact forces (`mj_rnePostConstraint`) in all worlds.

    Raises:
        ImportError: If this MuJoCo is too old.
    """

    dtype = torch.float64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        model, num_envs, fields, threads, _ = arguments
        self._lib = _library()
        model = copy.copy(model)
        if model.ntree == 1:  # then a solver's island is all of the robot: no use
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        if mujoco.get_mjcb_time() is None:  # else another clock was installed
            ctypes.c_void_p.in_dll(self._lib, "mjcb_time").value = None
        threads = min(threads or usable_cores(), num_envs)
        # Contact forces follow from all that a step leaves behind, which only a
        # persistent batch keeps per world.
        config = _Config(threads, self.has_contacts)
        error = ctypes.create_string_buffer(500)
        model_at = ctypes.c_void_p(model._address)
        batch = self._lib.mjb_makeBatch(
            model_at, num_envs, ctypes.byref(config), error, len(error)
        )
        if not batch:
            raise RuntimeError(f"MuJoCo makes no batch: {error.value.decode()}")
        self._batch = ctypes.c_void_p(batch)
        self._free = weakref.finalize(self, self._lib.mjb_deleteBatch, self._batch)
        self._ids = np.arange(num_envs, dtype=np.int32)
        address, shape = self._lib.mjb_warning(self._batch), (len(_WARNINGS), 2)
        self._warnings = _view(address, (num_envs, *shape), np.int32).numpy()
        self._run(self._ids, "mjb_reset", None, _NO_STAGE)
        size = self._lib.mjb_nstate(self._batch)
        rows = _view(self._lib.mjb_state(self._batch), (num_envs, size))
        self.inputs = {name: self._columns(rows, name) for name in (*STATE, "ctrl")}
        one, self.outputs = mujoco.MjData(model), {}
        for name in fields:
            address = self._lib.mjb_output(self._batch, name.encode(), None, None)
            shape = (num_envs, *getattr(one, name).shape)
            self.outputs[name] = _view(address, shape)

    def vary(self, fields: Mapping[str, Tensor], where: Tensor | None = None) -> None:
        """For all worlds if a field is one that no world had for itself before."""
        self.check_open()
        ids = self._ids
        if where is not None and fields.keys() <= self.varied.keys():
            ids = ids[where.numpy()]
        for name, values in fields.items():
            address = self._lib.mjb_expand(self._batch, name.encode(), None, None)
            if not address:
                raise ValueError(f"model_fields: MuJoCo lets no world have its {name}")
            _view(address, values.shape).copy_(values)
        self._run(ids, "mjb_setConst")
        self.varied = {**self.varied, **fields}

    def close(self) -> None:
        super().close()
        self._free()

    def advance(self, count: int, substeps: int) -> None:
        ids = self._ids[:count]
        self._run(ids, "mjb_step", substeps, _NO_STAGE)
        if self.has_contacts:
            # Its function gets the model, the data, the world's number and an argument,
            # of which this one takes two: C does not notice those beyond its own.
            forces = ctypes.cast(self._lib.mj_rnePostConstraint, ctypes.c_void_p)
            self._run(ids, "mjb_apply", forces, None, 0)
            self._run(ids, "mjb_forward", _NO_STAGE)  # copies the fields, no more
        if self._warnings[:count, _FULL, 1].any():
            raise RuntimeError(
                "the contacts of a world need more memory: give its file a line like"
                ' <size memory="15M"/>'
            )

    def forward(self, count: int) -> None:
        self._run(self._ids[:count], "mjb_forward", _ALL_STAGES)

    def _run(self, ids: np.ndarray, function: str, *arguments: Any) -> None:
        """Call a function of the library for these worlds, int32 in order."""
        call, count = getattr(self._lib, function), len(ids)
        places = ctypes.c_void_p(ids.ctypes.data)
        failed = call(self._batch, places, count, *arguments)
        if failed:
            messages = (self._lib.mjb_error(self._batch, int(i)) for i in ids)
            first = next(filter(None, messages), b"").decode()
            raise RuntimeError(f"MuJoCo failed in {failed} of {count} worlds: {first}")

    def _columns(self, rows: Tensor, name: str) -> Tensor:
        """A part of the state `[N, size]` as a view into MuJoCo's memory."""
        part, size = _COMPONENTS[name].value, ctypes.c_int()
        place = self._lib.mjb_stateComponent(self._batch, part, ctypes.byref(size))
        first = (place - rows.data_ptr()) // rows.element_size()
        return rows[:, first : first + size.value]


def _view(address: int, shape: Sequence[int], dtype: Any = np.float64) -> Tensor:
    """Memory of the library as a tensor."""
    kind = ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype))
    array = np.ctypeslib.as_array(ctypes.cast(address, kind), tuple(shape))
    return torch.from_numpy(array)
