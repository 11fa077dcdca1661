"""Weights from files that hold tensors and nothing that runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.foundations import CheckpointError
from yieldrl.vla.extra import require
from yieldrl.vla.folders import read_json

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
"""Files of a folder: which shard holds which tensor; or all of them in one."""

TENSOR_SUFFIXES = (".pt", ".pth", ".bin")
"""Endings of what `torch.save` wrote: tensors by name, read with `weights_only`."""


def read_state_dict(path: str | Path, device: str = "cpu") -> dict[str, Tensor]:
    """The tensors of one file, by name.

    Args:
        path: A `.safetensors` file, or what `torch.save(model.state_dict(), path)`
            wrote (`.pt`, `.pth`, `.bin`), alone or under the key `state_dict`.
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
    state = state.get("state_dict", state) if isinstance(state, dict) else state
    if not isinstance(state, dict) or not _are_tensors(state):
        raise _refused(path, "it holds something other than tensors by name")
    return state


def load_strictly(module: nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Copy tensors into a module that has exactly these.

    Raises:
        CheckpointError: If names or shapes differ; the message names them.
    """
    wanted = distinct(module.state_dict(keep_vars=True))
    again = module.state_dict().keys() - wanted.keys()
    got = {name: tensor for name, tensor in state.items() if name not in again}
    shapes = {name: tensor.shape for name, tensor in got.items()}
    check_names({k: v.shape for k, v in wanted.items()}, shapes, source)
    module.load_state_dict(got, strict=False)


def distinct(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a state, each by the first of its names."""
    first: dict[int, str] = {}
    for name, tensor in state.items():
        first.setdefault(id(tensor), name)
    return {name: state[name] for name in first.values()}


def check_names(wanted: Mapping[str, Any], got: Mapping[str, Any], source: str) -> None:
    """Refuse tensors other than the wanted ones.

    Args:
        wanted: Name -> shape that the model has.
        got: Name -> shape in the file.
        source: What the file is called in the message.

    Raises:
        CheckpointError: If a name is missing or unknown, or a shape differs.
    """
    remedy = (
        "load it with the class and the sizes (model_config) that it was saved from"
    )
    if missing := [name for name in wanted if name not in got]:
        raise CheckpointError(f"{source} lacks {_some(missing)}: {remedy}")
    if unknown := [name for name in got if name not in wanted]:
        raise CheckpointError(f"{source} has {_some(unknown)} beside: {remedy}")
    for name, shape in wanted.items():
        if tuple(shape) != tuple(got[name]):
            raise CheckpointError(
                f"{source} has {name} as {list(got[name])}, the model as"
                f" {list(shape)}: {remedy}"
            )


class Shards:
    """The tensors of a folder in one or more safetensors files, read one by one.

    Args:
        folder: Has `model.safetensors`, or `model.safetensors.index.json` and the
            shards that it names.

    Attributes:
        shapes: Name -> shape, from the files' headers.

    Raises:
        FileNotFoundError: If one of these files is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._open = require("safetensors").safe_open
        self.folder, self.shapes = folder, {}
        self._files: dict[Path, list[str]] = {}
        for path in _shard_files(folder):
            with self._open(path, framework="pt") as file:
                names = list(file.keys())
                self._files[path] = names
                for name in names:
                    self.shapes[name] = tuple(file.get_slice(name).get_shape())

    def fill(
        self, module: nn.Module, dtype: torch.dtype, device: Callable[[str], str]
    ) -> None:
        """Put each tensor that the module has a parameter for in its place.

        At no time is there more in memory than what is placed, and one tensor.

        Args:
            module: Its parameters may be on the device `meta`, without memory.
            dtype: What the parameters become.
            device: From a parameter's name to the device where it belongs.
        """
        names = {name for name, _ in module.named_parameters()}
        for path, inside in self._files.items():
            with self._open(path, framework="pt") as file:
                for name in names.intersection(inside):
                    tensor = file.get_tensor(name).to(device(name), dtype)
                    owner, _, leaf = name.rpartition(".")
                    setattr(module.get_submodule(owner), leaf, nn.Parameter(tensor))


def _shard_files(folder: Path) -> list[Path]:
    index = folder / INDEX
    if index.is_file():
        named = set(read_json(index).get("weight_map", {}).values())
        files = [folder / name for name in sorted(named)]
    else:
        files = [folder / SINGLE]
    for file in files:
        if not file.is_file():
            raise FileNotFoundError(
                f"{file}: no such file; the folder of a model needs {SINGLE}, or"
                f" {INDEX} and all its shards (pickled weights are never loaded):"
                " download it whole, or convert it with save_pretrained"
            )
    return files


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


def _are_tensors(state: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(name, str) and isinstance(tensor, Tensor)
        for name, tensor in state.items()
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
