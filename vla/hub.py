"""Where the files of a pretrained model lie: in a folder here, or on the hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from yieldrl.foundations import CheckpointError
from yieldrl.vla.optional_imports import require

FILES = ("*.json", "*.safetensors", "*--*_checkpoint.pt")
"""What is downloaded of a repository on the hub: nothing that runs.

The last are heads of OpenVLA-OFT, which are read with `weights_only`."""


def model_folder(model_path: str) -> Path:
    """A folder here, or a copy of a repository on the hub.

    Raises:
        FileNotFoundError: If it is neither, or the hub cannot be reached.
    """
    folder = Path(model_path).expanduser()
    if folder.is_dir():
        return folder
    hub = require("huggingface_hub")
    try:
        return Path(hub.snapshot_download(model_path, allow_patterns=list(FILES)))
    except (OSError, ValueError) as reason:
        raise FileNotFoundError(
            f"model_path = {model_path!r}: neither a folder here nor a repository that"
            f" the hub gives ({str(reason).splitlines()[0]}): download it, and give its"
            " folder"
        ) from reason


def read_config(folder: Path) -> dict[str, Any]:
    """What the `config.json` of a model's folder holds.

    Raises:
        FileNotFoundError: If it has none.
        CheckpointError: If that is no JSON object.
    """
    file = folder / "config.json"
    if not file.is_file():
        raise FileNotFoundError(
            f"{file}: no such file; a model's folder needs it: download it whole, or"
            " save the model with save_pretrained"
        )
    return read_json(file)


def read_json(file: Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Raises:
        CheckpointError: If it holds something else.
    """
    try:
        values = json.loads(file.read_text("utf-8-sig"))
    except ValueError as reason:  # nor is it UTF-8
        raise _no_object(file, str(reason)) from None
    if not isinstance(values, dict):
        raise _no_object(file, f"a {type(values).__name__}")
    return values


def _no_object(file: Path, got: str) -> CheckpointError:
    return CheckpointError(
        f"{file}: not a JSON object ({got}): download it again, or save the model with"
        " save_pretrained"
    )
