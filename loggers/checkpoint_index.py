"""The checkpoints of a folder, in order of writing.

An index file stores the order: steps do not give it, because a run may continue from
an older checkpoint, nor do file times, which change when a folder is copied.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from yieldrl.loggers import files
from yieldrl.loggers.write_errors import naming_failures

FOLDER, INDEX, BEST = "checkpoints", "checkpoints.json", "best.pt"
_NAME = re.compile(r"step_(\d+)\.pt")


def list_checkpoints(run_dir: str | Path) -> list[Path]:
    """Checkpoints in a run's folder or in a folder of them, newest first.

    ValueError if `checkpoints.json` cannot be read.
    """
    folder = Path(run_dir)
    if (folder / FOLDER).is_dir():
        folder = folder / FOLDER
    return [folder / name for name in reversed(Index(folder).saved)]


def describe_checkpoint(path: Path, sample_step: int) -> str:
    """A checkpoint, its step, and over how many episodes the best one was chosen."""
    said, best = f"{path}, step {sample_step:,}", Index(path.parent).best
    if best is None:
        return said
    chosen = f"the best in evaluations of {best['episodes']:,} episodes"
    if path.name == BEST:
        return f"{said}, {chosen}"
    return f"{said} ({BEST} is of step {best['sample_step']:,}, {chosen})"


class Index:
    """The file `checkpoints.json` of a folder; it may not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Names of checkpoints; what is known of `best.pt`: `episode_return`, the mean
        # of how many `episodes`, and `sample_step`.
        named, self.best = _read(folder / INDEX)
        self.saved = _in_order(folder, named)  # newest last

    @property
    def best_return(self) -> float:
        """The highest `episode_return` so far."""
        return -math.inf if self.best is None else self.best["episode_return"]

    def add(self, name: str) -> None:
        """Add the name of a checkpoint, as the newest, before it is written."""
        # A name without a file was added, but writing the file failed.
        self.saved = [x for x in self.saved if x != name and (self.folder / x).exists()]
        self.saved.append(name)
        self._write()

    def keep_last(self, count: int) -> None:
        """Delete all but the `count` newest."""
        old, self.saved = self.saved[:-count], self.saved[-count:]
        for name in old:
            (self.folder / name).unlink(missing_ok=True)
        if old:
            self._write()

    def set_best(self, episode_return: float, episodes: int, sample_step: int) -> None:
        """Store the mean return of `best.pt`, of how many episodes, and its step."""
        self.best = {"episode_return": episode_return, "episodes": episodes}
        self.best["sample_step"] = sample_step
        self._write()

    def _write(self) -> None:
        text = json.dumps({"saved": self.saved, "best": self.best}, indent=2)
        files.write_atomically(self.folder / INDEX, f"{text}\n")


def _in_order(folder: Path, named: list[str]) -> list[str]:
    """Existing checkpoints, newest last.

    A checkpoint that is not in the index counts as newer than all in it if its step is
    later than that of the newest.
    """
    found = (path for path in folder.glob("step_*.pt") if path.is_file())
    steps = {path.name: int(m[1]) for path in found if (m := _NAME.match(path.name))}
    known = [name for name in named if name in steps]
    others = sorted(steps.keys() - set(known), key=lambda name: steps[name])
    older = [name for name in others if known and steps[name] < steps[known[-1]]]
    return [*older, *known, *others[len(older) :]]


def _read(path: Path) -> tuple[list[str], dict[str, Any] | None]:
    if not path.exists():
        return [], None
    try:
        with naming_failures(path):
            content = json.loads(path.read_text("utf-8-sig"))
        saved, best = content["saved"], content.get("best")
        if not all(_NAME.fullmatch(name) for name in saved):
            raise ValueError(f"'saved' must name files step_*.pt, not {saved}")
        if best is not None:
            counts = {name: int(best[name]) for name in ("episodes", "sample_step")}
            best = {"episode_return": float(best["episode_return"]), **counts}
    except (AttributeError, LookupError, TypeError, ValueError) as reason:
        raise ValueError(
            f"{path}: not an index of checkpoints ({reason}). Delete it: the order is"
            " then that of the files' steps, and the next evaluation counts as the best"
        ) from None
    return saved, best
