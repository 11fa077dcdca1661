"""Puts tensors by name into modules, and reads those of a folder one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from yieldrl.foundations import CheckpointError
from yieldrl.vla.hub import read_json
from yieldrl.vla.optional_imports import require
from yieldrl.vla.state_dicts import some_of

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
"""Files of a folder: which shard holds which tensor; or all of them in one."""

PREFIXES = ("module", "_orig_mod")
"""What DistributedDataParallel and torch.compile put before or inside of names."""

STARTS = tuple(f"{prefix}." for prefix in (*PREFIXES, "model"))
"""What may be before all names: `model` in those of a policy, or of Lightning's."""


def load_strictly(module: nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Copy tensors into a module that has exactly these.

    Names may have the parts that `DistributedDataParallel` and `torch.compile` add:
    `module.layer.weight` is `layer.weight`, where the module has no name of the first
    kind. So is the `model.` that names in a policy's `state_dict` begin with.

    Raises:
        CheckpointError: If names or shapes differ; the message names them.
    """
    wanted = distinct(module.state_dict(keep_vars=True))
    again = module.state_dict().keys() - wanted.keys()
    state = unwrapped(state, module.state_dict().keys())
    got = {name: tensor for name, tensor in state.items() if name not in again}
    shapes = {name: tensor.shape for name, tensor in got.items()}
    check_names({k: v.shape for k, v in wanted.items()}, shapes, source)
    module.load_state_dict(got, strict=False)


def unwrapped(state: Mapping[str, Tensor], known: Iterable[str]) -> dict[str, Tensor]:
    """The tensors, by the known names where these are theirs without `PREFIXES`."""
    known, names = set(known), list(state)
    while known.isdisjoint(names) and all(n.startswith(STARTS) for n in names):
        names = [name.partition(".")[2] for name in names]  # that is around the whole
    for i, name in enumerate(names):
        inner = ".".join(part for part in name.split(".") if part not in PREFIXES)
        if name not in known and inner in known.difference(names):
            names[i] = inner
    return dict(zip(names, state.values(), strict=True))


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
        raise CheckpointError(f"{source} lacks {some_of(missing)}: {remedy}")
    if unknown := [name for name in got if name not in wanted]:
        raise CheckpointError(f"{source} has {some_of(unknown)} beside: {remedy}")
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
