"""The algorithms of the package: how each differs from its parent, its tuned configs,
and copies of its folder."""

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import keyword
import pkgutil
import re
import shutil
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yieldrl.algorithms
from yieldrl.cli.errors import nearest

PACKAGE = yieldrl.algorithms.__name__
SUFFIXES = (".json", ".yaml", ".yml", ".toml")  # of config files
REACHED = re.compile(r"(?m)^# Reached: (.+) \(docs/results/[\w.-]+\)\.$")
RESULT = re.compile(r"\bdocs/results/[\w-]+\.json")
"""What a tuned config file says of its returns, and of results that have none."""

PARTS = ("Algorithm", "Model", "Agent", "Trainer", "Config")


@dataclass(frozen=True)
class Member:
    """An algorithm's place in the family."""

    name: str  # of its folder
    parents: tuple[str, ...]  # folders of the classes that its own extend, nearest only
    changed: tuple[str, ...]  # classes that the folder itself defines
    lines: int  # of its folder, all included


def folders() -> dict[str, Path]:
    """Name -> folder of every algorithm of the package."""
    homes = {
        module.name: Path(home) / module.name
        for home in yieldrl.algorithms.__path__
        for module in pkgutil.iter_modules([home])
        if module.ispkg
    }
    return dict(sorted(homes.items()))


def folder(name: str) -> Path:
    """The folder of an algorithm; ValueError if there is none of this name."""
    homes = folders()
    if name not in homes:
        raise ValueError(f"no algorithm is called {name!r}: {nearest(name, homes)}")
    return homes[name]


def check_name(name: str) -> None:
    """ValueError, with the nearest names, if no algorithm or module has this one."""
    if name.isidentifier() and importlib.util.find_spec(name) is None:
        folder(name)  # raises, if there is none


def importable_from_here() -> None:
    """Make modules of the working directory importable."""
    here = str(Path.cwd())
    if here not in sys.path[:1]:
        sys.path.insert(0, here)


def descriptions() -> dict[str, str]:
    """Name -> first line of its docstring, read without importing PyTorch."""
    texts: dict[str, str] = {}
    for name, home in folders().items():
        tree = ast.parse((home / "__init__.py").read_text("utf-8"))
        texts[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return texts


def members() -> list[Member]:
    """All algorithms, each after its parents."""
    ordered: dict[str, Member] = {}

    def add(name: str) -> None:
        member = _member(name)
        for parent in member.parents:
            add(parent)
        ordered[name] = member

    for name in folders():
        add(name)
    return list(ordered.values())


def tree() -> list[tuple[int, Member]]:
    """All algorithms, each below its nearest parent, with its depth."""
    family = members()

    def below(parents: tuple[str, ...], depth: int) -> list[tuple[int, Member]]:
        rows: list[tuple[int, Member]] = []
        for member in family:
            if member.parents[:1] == parents:
                rows += [(depth, member), *below((member.name,), depth + 1)]
        return rows

    return below((), 0)


def listing() -> str:
    """A line for each algorithm, and below it for its tuned configs and agents."""
    homes, rows, along = folders(), descriptions(), agents()
    width = max(map(len, rows))
    lines: list[str] = []
    for name, text in rows.items():
        lines.append(f"{name:{width}}  {text}")
        for path in tuned_configs(homes[name]):
            text = path.read_text("utf-8")
            found = [f"return {one}" for one in REACHED.findall(text)]
            found = found or RESULT.findall(text)[:1] or ["no result yet"]
            lines += (f"{'':{width}}    --config {path.stem}: {one}" for one in found)
        for agent in (x for x in along if x.startswith(f"{name}/")):
            reached = returned(about(along[agent])["evaluation"])
            lines.append(f"{'':{width}}    yieldrl play {agent}: {reached}")
    return "\n".join(lines)


def tree_listing() -> str:
    """Every algorithm below the one it extends, with the size of the difference."""
    rows = [("  " * depth + member.name, member) for depth, member in tree()]
    width = max(len(label) for label, _ in rows)
    lines = [f"{'algorithm':{width}}  lines  classes of its own"]
    for label, member in rows:
        others = ", ".join(member.parents[1:])
        also = f" (also from {others})" if others else ""
        classes = " ".join(member.changed) or "none"
        lines.append(f"{label:{width}}  {member.lines:5}  {classes}{also}")
    return "\n".join(lines)


def agents() -> dict[str, Path]:
    """Name -> file of every trained agent that comes along: `ppo/CartPole-v1`."""
    return {
        f"{name}/{path.stem}": path
        for name, home in folders().items()
        for path in sorted((home / "agents").glob("*.safetensors"))
    }


def about(path: Path) -> dict[str, Any]:
    """What an agent's file says of it, read without importing PyTorch."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(size))["__metadata__"]["yieldrl"])


def returned(evaluation: dict[str, Any]) -> str:
    """The returns of an evaluation in words."""
    mean, std = evaluation["episode_return"], evaluation["episode_return_std"]
    return f"return {mean:.4g} +- {std:.3g} over {evaluation['episodes']:g} episodes"


def tuned_configs(home: Path) -> list[Path]:
    """The tuned config files in an algorithm's folder, in the order of their names."""
    paths = (home / "configs").glob("*")
    return sorted(path for path in paths if path.suffix in SUFFIXES)


def load_config(name: str, trainer_class: type[Any]) -> Any:
    """The config at a path, or of a tuned file by its name; or ValueError."""
    return trainer_class.config_class.from_file(find_config(name, trainer_class))


def find_config(name: str, trainer_class: type[Any] | None) -> Path:
    """The file: `name` itself, or `configs/NAME.yaml` with the algorithm.

    A copied folder has its tuned files copied too; `ppo/pendulum` finds those of an
    algorithm of yieldrl, `pendulum` alone those of the algorithm itself.
    """
    if Path(name).suffix in SUFFIXES:
        return Path(name)
    hint = f"name the algorithm too, as in yieldrl train ppo --config {name}"
    if trainer_class is not None:
        home = Path(inspect.getfile(trainer_class)).parent
        own = {path.stem: path for path in tuned_configs(home)}
        homes = folders() | {home.name: home}
        configs = {
            f"{algorithm}/{path.stem}": path
            for algorithm, where in homes.items()
            for path in tuned_configs(where)
        }
        if path := own.get(name, configs.get(name)):
            return path
        elsewhere = [x for x in configs if not x.startswith(f"{home.name}/")]
        hint = nearest(name, [*own, *elsewhere])
    raise ValueError(
        f"--config {name}: neither a {', '.join(SUFFIXES)} file nor the name of a"
        f" tuned one: {hint}"
    )


def copy(name: str, source: str, into: str | Path = ".") -> str:
    """Copy an algorithm's folder, give the copy its own name, and say what comes next.

    Files of the folder import each other relatively and everything else absolutely, so
    the copy runs from wherever it lies. Only its module's name in texts is changed.

    Raises:
        ValueError: If the name is invalid, or there is no such algorithm.
        FileExistsError: If the copy's folder is there already.
    """
    origin, target = folder(source), Path(into) / name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is no name that Python can import: use letters, digits and _,"
            " such as my_ppo"
        )
    if target.exists():
        raise FileExistsError(f"{target} is there already: choose another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise ValueError(f"{name!r} hides another module: choose another name")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "agents")
    shutil.copytree(origin, target, ignore=ignored)
    for path in target.rglob("*.py"):
        text = path.read_text("utf-8")
        text = re.sub(rf"\byieldrl train {source}\b", f"python -m {name}", text)
        text = re.sub(rf"\b{re.escape(PACKAGE)}\.{source}\b", name, text)
        path.write_text(text, encoding="utf-8", newline="\n")
    if not (target / "__main__.py").exists():
        (target / "__main__.py").write_text(_MAIN.format(name), encoding="utf-8")
    files = ", ".join(sorted(path.name for path in target.glob("*.py")))
    change_folder = f"  cd {target.parent}\n" if target.parent != Path() else ""
    return (
        f"{target} is a copy of {source}: {files}\n\nNext:\n{change_folder}"
        f"  python -m {name} --help\n"
        f"  python -m {name}\n"
        f"  edit {name}/algorithm.py, and run it again\n\n"
        f"It runs as a module: python -m {name}, not a file of it."
    )


_MAIN = '''"""`python -m {} --help` shows the options."""

from yieldrl.cli import train_command

from . import Trainer

if __name__ == "__main__":
    train_command(Trainer)
'''


@functools.cache
def _member(name: str) -> Member:
    module = importlib.import_module(f"{PACKAGE}.{name}")
    classes: dict[str, type] = {part: getattr(module, part) for part in PARTS}
    changed = tuple(part for part, cls in classes.items() if _home(cls) == name)
    ancestors = [cls for part in changed or PARTS for cls in classes[part].__mro__]
    related = [x for x in dict.fromkeys(map(_home, ancestors)) if x not in ("", name)]
    # What a related folder extends is farther away than that folder.
    farther = {parent for home in related for parent in _member(home).parents}
    parents = tuple(home for home in related if home not in farther)
    sources = folder(name).glob("*.py")
    lines = sum(path.read_text("utf-8").count("\n") for path in sources)
    return Member(name, parents, changed, lines)


def _home(cls: type) -> str:
    """The algorithm folder that defines a class; empty for other classes."""
    package, _, rest = cls.__module__.partition(f"{PACKAGE}.")
    name, inside, _ = rest.partition(".")  # no file beside the folders
    return name if inside and not package else ""
