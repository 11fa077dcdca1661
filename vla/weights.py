"""Load tensors by name into modules; read those of a folder one by one."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.text import listed
from yieldrl.vla.files import existing, read_json, require

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
"""Files of a folder: the index of tensors in shards; or one with all tensors."""

PREFIXES = ("module", "_orig_mod")
"""Parts that DistributedDataParallel and torch.compile add to names."""

STARTS = tuple(f"{prefix}." for prefix in (*PREFIXES, "model"))
"""Possible prefixes of all names: also `model`, of a policy or of Lightning."""


def load_strictly(module: nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Copy tensors into a module that has exactly these; see `unwrapped` for names."""
    own = module.state_dict(keep_vars=True)
    wanted = distinct(own)
    names = {id(tensor): name for name, tensor in wanted.items()}
    got: dict[str, Tensor] = {}
    for name, tensor in unwrapped(state, own.keys()).items():
        kept = names[id(own[name])] if name in own else name  # one name per tied tensor
        if not torch.equal(got.setdefault(kept, tensor), tensor):
            raise CheckpointError(
                f"{source} has {name} apart from {kept}, and the model ties the two:"
                " load it into one that does not (tie_word_embeddings=False, say)"
            )
    check_names(shapes(wanted), shapes(got), source)
    module.load_state_dict(got, strict=False)


def unwrapped(state: Mapping[str, Tensor], known: Iterable[str]) -> dict[str, Tensor]:
    """The tensors, renamed to known names that equal theirs without `PREFIXES`.

    `module.layer.weight` of `DistributedDataParallel` is `layer.weight`, if no known
    name is of the first kind; likewise the `model.` that a policy's names begin with.
    """
    known, names = set(known), list(state)
    while known.isdisjoint(names) and all(n.startswith(STARTS) for n in names):
        names = [name.partition(".")[2] for name in names]  # strip the prefix
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


def shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """Name -> shape."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_names(
    wanted: Mapping[str, tuple[int, ...]],
    got: Mapping[str, tuple[int, ...]],
    source: str,
) -> None:
    """Refuse shapes by name other than the wanted ones."""
    remedy = (
        "load it with the class and the sizes (model_config) that it was saved from"
    )
    if missing := [name for name in wanted if name not in got]:
        raise CheckpointError(f"{source} lacks {listed(missing)}: {remedy}")
    if unknown := [name for name in got if name not in wanted]:
        raise CheckpointError(f"{source} has {listed(unknown)} beside: {remedy}")
    for name, shape in wanted.items():
        if shape != got[name]:
            raise CheckpointError(
                f"{source} has {name} as {list(got[name])}, the model as"
                f" {list(shape)}: {remedy}"
            )


class Shards:
    """The tensors of a folder in one or more safetensors files, read one by one.

    Attributes:
        shapes: Name -> shape, from the files' headers.
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

    def fill(self, module: nn.Module, dtype: torch.dtype, device: str) -> None:
        """Replace the module's parameters of these names, which may be on the device
        `meta`, by the tensors; at most one tensor more is in memory at a time.
        """
        names = {name for name, _ in module.named_parameters()}
        for path, inside in self._files.items():
            with self._open(path, framework="pt") as file:
                for name in names.intersection(inside):
                    tensor = file.get_tensor(name).to(device, dtype)
                    owner, _, leaf = name.rpartition(".")
                    setattr(module.get_submodule(owner), leaf, nn.Parameter(tensor))


def _shard_files(folder: Path) -> list[Path]:
    shards = read_json(folder / INDEX, optional=True).get("weight_map", {}).values()
    return [
        existing(
            folder / name,
            f"the folder of a model needs {SINGLE}, or {INDEX} and all its shards"
            " (pickled weights are never loaded): download it whole, or convert it"
            " with save_pretrained",
        )
        for name in sorted(set(shards)) or [SINGLE]
    ]
