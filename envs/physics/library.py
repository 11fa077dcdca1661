"""MuJoCo's shared library, for what its Python package leaves out."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import mujoco


class Config(ctypes.Structure):  # mjBatchConfig
    _fields_ = (("nthread", ctypes.c_int), ("persistent", ctypes.c_bool))


@cache
def library() -> Any:
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
        "mjb_warning": (address, address),
        "mjb_expand": (address, address, text, address, address),
        "mjb_nstate": (number, address),
        "mjb_state": (address, address),
        "mjb_stateComponent": (address, address, number, address),
        "mjb_output": (address, address, text, address, address),
        "mjb_reset": (number, *chosen, address, number),
        "mjb_forward": (number, *chosen, number),
        "mjb_setConst": (number, *chosen),
        "mjb_step": (number, *chosen, number, number),
        # Its function gets the model, the data, the world's number and `arg`.
        # mj_rnePostConstraint takes the first two, and where MuJoCo runs a C function
        # does not notice arguments that it is given beyond its own.
        "mjb_apply": (number, *chosen, address, address, number),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib
