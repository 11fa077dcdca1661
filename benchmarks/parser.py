"""The commands of `python -m benchmarks`, and their options."""

import argparse
import importlib
import pkgutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yieldrl.foundations.files import read_file

from .circumstances import ROOT
from .registry import CLAIMS


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, as `commands.yaml` has it."""

    help: str
    names: Collection[str] = ()  # what it measures, or makes
    claims: str = ""
    code: str = ""  # the module that measures and shows them; claims have `report`
    metavar: str = "CLAIM"
    prefix: str = ""  # of the files of its results
    all_by_default: bool = False
    options: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def listed(self) -> str:
        """The names, with what a workload of `peers` is and takes."""
        words = [
            f"{name} = {of.title}, about {of.minutes} min"
            if self.metavar == "WORKLOAD"
            else name
            for name, of in dict(self.names).items()
        ]
        return f"{'; '.join(words)}, or all"

    @property
    def module(self) -> Any:
        return importlib.import_module(f"yieldrl.benchmarks.{self.code or 'report'}")


def _mapping(place: str) -> Any:
    return pkgutil.resolve_name(f"yieldrl.benchmarks.{place}")


def _command(name: str, fields: dict[str, Any]) -> Command:
    place = fields.get("names")
    names = _mapping(place) if place else CLAIMS.get(name, ())
    return Command(**{"prefix": f"{name}-", **fields, "names": names})


_FILE = read_file(Path(__file__).with_name("commands.yaml"))
COMMANDS = {name: _command(name, of) for name, of in _FILE["measured"].items()}
MADE = {name: _command(name, of) for name, of in _FILE["made"].items()}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `peers --quick`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, of in (COMMANDS | MADE).items():
        command = commands.add_parser(name, help=of.help)
        if of.names:
            count = "*" if of.all_by_default else "+"
            command.add_argument(
                "names", nargs=count, metavar=of.metavar, help=of.listed
            )
        for option, fields in of.options.items():
            command.add_argument(f"--{option}", **_argument(fields))
        if name in COMMANDS:
            command.add_argument("--out", help="result file")
            folder = f"folder of a {of.prefix}NAME.json for each"
            command.add_argument("--out-folder", help=folder)
    parsed = parser.parse_args(list(arguments) or ["peers", "--quick"])
    known = (COMMANDS | MADE)[parsed.command].names
    if known:
        _check_names(parser, parsed, known)
    return parsed


def _argument(fields: dict[str, Any]) -> dict[str, Any]:
    """An option's entry as `add_argument` takes it."""
    found, default = dict(fields), fields.get("default")
    if "type" in fields:
        found["type"] = {"count": _count, "float": float, "path": Path}[fields["type"]]
    if isinstance(fields.get("choices"), str):
        found["choices"] = _mapping(fields["choices"])
    if default:
        found["help"] += f" ({default})"
    if default and fields.get("type") == "path":
        found["default"] = ROOT / default
    return found


def _check_names(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, known: Collection[str]
) -> None:
    """Refuse unknown names; `all` and nothing stand for every one."""
    unknown = set(parsed.names) - {*known, "all"}
    if unknown:
        names = ", ".join(sorted(unknown))
        parser.error(f"unknown: {names}; choose {', '.join(known)}, or all")
    if not parsed.names or "all" in parsed.names:
        parsed.names = list(known)
    one_file = getattr(parsed, "out", None) is not None
    if len(parsed.names) > 1 and one_file:
        parser.error("--out is one file: for several, choose --out-folder")


def _count(text: str) -> Any:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value
