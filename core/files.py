"""Config files (JSON with comments, YAML, TOML), and checks of file names."""

import codecs
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import yaml


class CheckpointError(RuntimeError):
    """A file is not a checkpoint of this project, it is damaged, or it does not fit."""


def saved_count(state: Mapping[str, Any], name: str, least: int = 0) -> int:
    """A whole number of a checkpoint, `least` or more; or CheckpointError."""
    value = state[name]
    if type(value) is not int or value < least:
        raise CheckpointError(
            f"its {name} is {value!r}, and must be a whole number, {least} or more:"
            " load an earlier checkpoint of the run"
        )
    return value


class YamlLoader(yaml.SafeLoader):
    """YAML with the number syntax of Python and JSON instead of YAML 1.1.

    `1e-3` and `1E5` are floats; `12:30` and `010` are text, where YAML 1.1 has 750 and
    8. All else is as PyYAML reads it.
    """


class _Dumper(yaml.SafeDumper):
    """Quotes text that `YamlLoader` or YAML 1.1 would read as a number."""


_NUMBERS = {
    "tag:yaml.org,2002:int": r"0|[1-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+",
    "tag:yaml.org,2002:float": r"\.(inf|Inf|INF|nan|NaN|NAN)"
    r"|([0-9][0-9_]*(\.[0-9_]*|(?=[eE]))|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?",
}
YamlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag not in _NUMBERS]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _class in (YamlLoader, _Dumper):
    for _tag, _number in _NUMBERS.items():
        _whole = re.compile(f"[-+]?({_number})$")
        _class.add_implicit_resolver(_tag, _whole, list("-+.0123456789"))


def to_yaml(values: Any) -> str:
    """Plain values as YAML that reads back equal, also in YAML 1.1."""
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False)


SUFFIXES = (".json", ".yaml", ".yml", ".toml")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let a ValueError inside name the file that it is about."""
    try:
        yield
    except ValueError as reason:
        if str(path) in str(reason):
            raise
        raise ValueError(f"{path}: {reason}") from None


def read_file(path: str | Path) -> dict[str, Any]:
    """Read a config file as a mapping of names to plain values.

    JSON may have `//` and `/* */` comments and trailing commas.
    FileNotFoundError if there is no such file, ValueError if it is not valid JSON, YAML
    or TOML, or not a mapping.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ValueError(f"{path}: a config file ends in {endings}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such config file")
    content = path.read_bytes()
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        values = _parse(content.decode("utf-16" if utf16 else "utf-8-sig"), path.suffix)
    except (ValueError, yaml.YAMLError) as reason:
        raise ValueError(f"{path}: not a readable config file: {reason}") from reason
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected names and values, got {type(values)}")
    return values


def _parse(text: str, suffix: str) -> Any:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix != ".json":
        return yaml.load(text, YamlLoader)
    for left_out in (_COMMENT, _TRAILING_COMMA):
        text = left_out.sub(lambda match: match["text"] or "", text)
    return json.loads(text)


_TEXT = r'(?P<text>"(?:[^"\\]|\\.)*")'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(_TEXT + r"|,(?=\s*[]}])")


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file atomically; creates its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def wrong_name(name: str) -> str | None:
    """Why a run cannot have this name, a folder below `run_root`; None if it can.

    It may have parts, as `group/first`.
    """
    path = PurePath(name)
    if not path.name.strip():
        return "give a folder name, or None for a default"
    if path.anchor or ".." in path.parts:
        return (
            "a run lies below run_root: leave out '..', a drive, and a slash at the"
            " beginning, and say in run_root where runs lie"
        )
    return None
