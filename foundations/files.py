"""Config files: JSON with comments, YAML and TOML, as plain names and values."""

from __future__ import annotations

import codecs
import json
import tomllib
from pathlib import Path
from typing import Any

import yaml

SUFFIXES = (".json", ".yaml", ".yml", ".toml")


def read_file(path: str | Path) -> dict[str, Any]:
    """Read a config file as a mapping of names to plain values.

    JSON may have `//` and `/* */` comments and trailing commas (json5.org).

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is no JSON, YAML or TOML, or holds no names and values.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ValueError(f"{path}: a config file ends in {endings}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such config file")
    try:
        values = _parse(_text(path), path.suffix)
    except (ValueError, yaml.YAMLError) as reason:
        raise ValueError(f"{path}: not a readable config file: {reason}") from reason
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected names and values, got {type(values)}")
    return values


def _text(path: Path) -> str:
    """A file in UTF-8, or in UTF-16 where it begins with its byte order mark.

    Editors and shells of Windows write such marks, which are no part of the text.
    """
    content = path.read_bytes()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def _parse(text: str, suffix: str) -> Any:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix != ".json":
        return yaml.safe_load(text)
    try:
        return json.loads(text)
    except ValueError:
        import json5  # a hundred times slower: for files with comments alone

        return json5.loads(text)
