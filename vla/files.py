"""Reads models' files, without running code; finds packages of the extra `vla`."""

import importlib
import pickle
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from yieldrl.core import CheckpointError
from yieldrl.core.files import read_file

DOWNLOADED = ["*.json", "*.safetensors", "*--*_checkpoint.pt"]
"""Files to download from the hub; the last pattern matches heads of OpenVLA-OFT."""

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


def check_options(
    model_config: Mapping[str, Any], options: Sequence[str], model: str
) -> None:
    """Refuse a `model_config` with options that the model does not know.

    >>> check_options({"depth": 2}, ["frozen", "normalized"], "this policy")
    Traceback (most recent call last):
    ValueError: model_config: this policy has no 'depth'; choose of frozen, normalized
    """
    for name in model_config:
        if name not in options:
            remedy = f"choose of {', '.join(options)}" if options else "leave it out"
            raise ValueError(f"model_config: {model} has no {name!r}; {remedy}")


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


def with_safetensors(folder: Path) -> Path:
    """The folder; FileNotFoundError if no safetensors are in it."""
    if not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(
            f"{folder}: no *.safetensors there (pickled weights are never loaded):"
            " download it whole, or save the model with save_pretrained"
        )
    return folder


def read_json(file: Path) -> dict[str, Any]:
    """The object that a JSON file holds; empty without the file."""
    return read_file(file) if file.is_file() else {}


def read_state_dict(path: str | Path) -> dict[str, Tensor]:
    """The tensors of one file by name, on the CPU.

    It is one of safetensors, or of `torch.save(model.state_dict(), path)`, which may be
    under one of `WRAPPERS`. Anything else is refused: unpickling objects runs code.
    """
    path = existing(Path(path), "give the file of the weights")
    state: Any = None
    if path.suffix == ".safetensors":
        with suppress(require("safetensors").SafetensorError):
            state = require("safetensors.torch").load_file(path)
    else:
        with suppress(pickle.UnpicklingError, RuntimeError, EOFError, ValueError):
            state = torch.load(path, map_location="cpu", weights_only=True)
    whole: dict[str, Any] = state if isinstance(state, dict) else {"": state}
    for tensors in (whole, *(whole.get(key) for key in WRAPPERS)):
        values = tensors.values() if isinstance(tensors, dict) else [None]
        if all(isinstance(value, Tensor) for value in values):
            return cast("dict[str, Tensor]", tensors)
    raise CheckpointError(
        f"{path}: not read, as it is damaged, or holds something other than tensors by"
        f" name, at once or under {', '.join(WRAPPERS)}: save tensors alone, with"
        " torch.save(model.state_dict(), 'weights.pth') or safetensors"
    )


def load_strictly(module: nn.Module, state: Mapping[str, Tensor], source: str) -> None:
    """Copy tensors into a module that has exactly these; see `unwrapped` for names.

    Of tensors that the module ties, one by any of its names is enough.
    """
    tied: dict[int, list[str]] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        tied.setdefault(id(tensor), []).append(name)
    tied_names = {name for names in tied.values() for name in names}
    tensors = unwrapped(state, tied_names)
    for names in tied.values():
        given = [tensors[name] for name in names if name in tensors]
        if any(not torch.equal(given[0], other) for other in given[1:]):
            raise CheckpointError(
                f"{source} has {' apart from '.join(names)}, and the model ties them:"
                " load it into one that does not (tie_word_embeddings=False, say)"
            )
        if given:
            tensors |= dict.fromkeys(names, given[0])
    try:
        module.load_state_dict(tensors)
    except RuntimeError as reason:
        raise CheckpointError(
            f"{source}: {textwrap.shorten(str(reason), 600)}: load it with the class"
            " and the sizes (model_config) that it was saved from"
        ) from None


def unwrapped(
    state: Mapping[str, Tensor], names_of_model: Iterable[str]
) -> dict[str, Tensor]:
    """The tensors, named as before wrappers put something into their names.

    `_orig_mod.` is of `torch.compile`; `module.` of `DistributedDataParallel`; and
    `model.`, before all names, of a policy or of Lightning.
    """
    names_of_model = set(names_of_model)
    names = [name.replace("_orig_mod.", "") for name in state]
    while names and names_of_model.isdisjoint(names):
        if not all(name.startswith(("module.", "model.")) for name in names):
            break
        names = [name.partition(".")[2] for name in names]
    names = [x if x in names_of_model else x.replace(".module.", ".") for x in names]
    return dict(zip(names, state.values(), strict=True))
