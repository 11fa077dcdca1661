"""Reads models' files, without running code; finds packages of the extra `vla`."""

import importlib
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from yieldrl.core import CheckpointError
from yieldrl.core.text import listed

DOWNLOADED = ["*.json", "*.safetensors", "*--*_checkpoint.pt"]
"""Files to download from the hub; the last pattern matches heads of OpenVLA-OFT."""

TENSOR_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
"""File endings of `torch.save`: tensors by name, read with `weights_only`."""

WRAPPERS = ("state_dict", "model_state_dict", "model")
"""Keys under which training scripts put the tensors, beside an epoch, say."""


def require(name: str) -> Any:
    """The module `name`, imported now; the error says what to install.

    >>> require("no_such")
    Traceback (most recent call last):
    ImportError: this model needs the package no_such: pip install 'yieldrl[vla]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as reason:
        package = name.partition(".")[0]
        raise ImportError(
            f"this model needs the package {package}: pip install 'yieldrl[vla]'"
        ) from reason


def model_folder(model_path: str) -> Path:
    """The model's local folder, or a copy of its repository on the hub."""
    folder = Path(model_path).expanduser()
    if folder.is_dir():
        return folder
    hub = require("huggingface_hub")
    try:
        return Path(hub.snapshot_download(model_path, allow_patterns=DOWNLOADED))
    except (OSError, ValueError) as reason:
        raise FileNotFoundError(
            f"model_path = {model_path!r}: neither a folder here nor a repository that"
            f" the hub gives ({str(reason).splitlines()[0]}): download it, and give its"
            " folder"
        ) from reason


def existing(file: Path, remedy: str) -> Path:
    """The file; FileNotFoundError, with a remedy, if it does not exist."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; {remedy}")
    return file


def read_json(file: Path, *, optional: bool = False) -> dict[str, Any]:
    """The object that a JSON file holds; with `optional`, empty without the file."""
    if optional and not file.is_file():
        return {}
    try:
        values = json.loads(file.read_text("utf-8-sig"))
        got = f"a {type(values).__name__}"
    except ValueError as reason:  # not JSON, or not UTF-8
        values, got = None, str(reason)
    if not isinstance(values, dict):
        raise CheckpointError(
            f"{file}: not a JSON object ({got}): download it again, or save the model"
            " with save_pretrained"
        )
    return values


def read_state_dict(path: str | Path) -> dict[str, Tensor]:
    """The tensors of one file by name, on the CPU.

    It is one of safetensors, or of `torch.save(model.state_dict(), path)`, which may be
    under one of `WRAPPERS`. Anything else is refused: unpickling objects runs code.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"model_path = {str(path)!r}: no such file; give the file of the weights"
        )
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.suffix not in TENSOR_SUFFIXES:
        raise _refused(path, f"the ending {path.suffix!r} is of no file of tensors")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise _refused(path, "it holds more than tensors, or is damaged") from None
    except (RuntimeError, EOFError, ValueError, IndexError) as reason:
        said = str(reason).splitlines() or [type(reason).__name__]
        raise _refused(path, f"it is damaged ({said[0]})") from None
    return _tensors(state, path)


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    library = require("safetensors")
    try:
        return require("safetensors.torch").load_file(path)
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
    """The tensors by name in what a file holds, maybe under one of `WRAPPERS`."""
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
    names, found = listed([*map(str, state)]), "several" if full else "none"
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
