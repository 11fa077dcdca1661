"""Files that hold tensors by name and nothing that runs."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from yieldrl.foundations import CheckpointError
from yieldrl.vla.optional_imports import require

TENSOR_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
"""Endings of what `torch.save` wrote: tensors by name, read with `weights_only`."""

WRAPPERS = ("state_dict", "model_state_dict", "model")
"""Keys under which training scripts put the tensors, beside an epoch, say."""


def read_state_dict(path: str | Path, device: str = "cpu") -> dict[str, Tensor]:
    """The tensors of one file, by name.

    Args:
        path: A `.safetensors` file, or what `torch.save(model.state_dict(), path)`
            wrote (`.pt`, `.pth`, `.bin`, `.ckpt`), alone or under one of the keys
            `state_dict`, `model_state_dict` and `model`.
        device: Where the tensors go.

    Raises:
        FileNotFoundError: If there is no such file.
        CheckpointError: If it holds anything but tensors by name, pickled objects for
            one: they are never loaded, because loading them runs their code.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"model_path = {str(path)!r}: no such file; give the file of the weights"
        )
    if path.suffix == ".safetensors":
        return _read_safetensors(path, device)
    if path.suffix not in TENSOR_SUFFIXES:
        raise _refused(path, f"the ending {path.suffix!r} is of no file of tensors")
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except pickle.UnpicklingError:
        raise _refused(path, "it holds more than tensors, or is damaged") from None
    except (RuntimeError, EOFError, ValueError, IndexError) as reason:
        said = str(reason).splitlines() or [type(reason).__name__]
        raise _refused(path, f"it is damaged ({said[0]})") from None
    return _tensors(state, path)


def some_of(names: list[str]) -> str:
    """The first names of a list, in words."""
    shown = ", ".join(sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _read_safetensors(path: Path, device: str) -> dict[str, Tensor]:
    library = require("safetensors")
    try:
        return require("safetensors.torch").load_file(path, device=device)
    except library.SafetensorError as reason:
        raise CheckpointError(
            f"{path}: not a readable safetensors file ({reason}): save it again with"
            " safetensors.torch.save_file"
        ) from None


def _refused(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{path}: not read, because {reason}: save tensors alone, with"
        " torch.save(model.state_dict(), 'weights.pth') or safetensors"
    )


def _tensors(state: Any, path: Path) -> dict[str, Tensor]:
    """The tensors by name in what a file holds, maybe under one of `WRAPPERS`.

    Raises:
        CheckpointError: If there are none, or under several keys.
    """
    if _are_tensors(state):
        return state
    if not isinstance(state, Mapping):
        raise _refused(path, "it holds something other than tensors by name")
    nested = [key for key in WRAPPERS if isinstance(state.get(key), Mapping)]
    if len(nested) == 1:
        return _tensors(state[nested[0]], path)
    full = [key for key in nested if state[key] and _are_tensors(state[key])]
    if len(full) == 1:
        return state[full[0]]
    names, found = some_of([*map(str, state)]), "several" if full else "none"
    raise _refused(
        path,
        f"it holds something other than tensors by name ({names}), and has such under"
        f" {found} of the keys {', '.join(WRAPPERS)}",
    )


def _are_tensors(state: Any) -> bool:
    return isinstance(state, Mapping) and all(
        isinstance(name, str) and isinstance(tensor, Tensor)
        for name, tensor in state.items()
    )
