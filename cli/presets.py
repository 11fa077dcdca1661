"""Find config files: paths, and the tuned ones in the folder of an algorithm."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from yieldrl.cli import catalog

FOLDER = "configs"
SUFFIXES = (".json", ".yaml", ".yml", ".toml")  # what `foundations.files` reads


def load(name: str, trainer_class: type[Any]) -> Any:
    """The config at a path, or of a tuned file by its name; or ValueError."""
    path = find(name, trainer_class)
    with naming(path):
        return trainer_class.config_class.from_file(path)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors about the content of a file begin with its path."""
    try:
        yield
    except ValueError as reason:
        text = str(reason)
        raise ValueError(text if str(path) in text else f"{path}: {text}") from None


def find(name: str, trainer_class: type[Any] | None) -> Path:
    """The file: `name` itself, or `configs/NAME.yaml` with the algorithm.

    A copied folder has its tuned files copied too; `ppo/pendulum` finds those of an
    algorithm of yieldrl, `pendulum` alone those of the algorithm itself.
    """
    if Path(name).suffix in SUFFIXES:
        return Path(name)
    tuned = f"name the algorithm too, as in yieldrl train ppo --config {name}"
    if trainer_class is not None:
        home = Path(inspect.getfile(trainer_class)).parent
        folders = [*catalog.folders().values(), home]
        known = {path.stem: path for path in files(home)}
        known |= {f"{f.name}/{path.stem}": path for f in folders for path in files(f)}
        if name in known:
            return known[name]
        tuned = ", ".join(sorted(known)) or "none"
    raise ValueError(
        f"--config {name}: neither a {', '.join(SUFFIXES)} file nor the name of a"
        f" tuned one: {tuned}"
    )


def files(folder: Path) -> list[Path]:
    """The tuned files in an algorithm's folder, in the order of their names."""
    found = (folder / FOLDER).glob("*")
    return sorted(path for path in found if path.suffix in SUFFIXES)
