"""What tuned config files reached: the first line of each, which `yieldrl list`
shows."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import results
from .learning import final_returns

START = "# Reached: "

# fields that change how fast something is learned, and not what; `compile` is what
# `speed` was called before
NEUTRAL = {"compile", "speed"}

ALGORITHMS = results.ROOT / "algorithms"

# trial's result -> the tuned file that all of it was trained with
TRIED = {"vla-reacher": "vla_ppo/configs/reacher.yaml"}


def reached(result: dict[str, Any], path: Path) -> str:
    """A result in `path` as a line: mean and standard deviation over seeds."""
    steps = result["whole_config"]["total_steps"]
    return line_of(final_returns(result["runs"]), steps, path)


def line_of(returns: Sequence[float], steps: int, path: Path) -> str:
    """The line of returns over seeds, after so many steps, from a result's file."""
    std = statistics.stdev(returns) if len(returns) > 1 else 0.0
    return (
        f"{START}{statistics.mean(returns):.4g} +- {float(f'{std:.2g}'):g} over"
        f" {len(returns)} seeds, {steps} steps (docs/results/{path.name})."
    )


def lines(folder: Path = results.FOLDER) -> dict[Path, str]:
    """Tuned file -> its line, for each that a committed result was trained with as it
    is."""
    found: dict[Path, str] = {}
    for path in sorted(folder.glob("*.json")):
        result = results.load(path)
        name = result.get("tuned") if result["kind"] == "learning" else None
        if name and "/" not in name and result["config"].keys() <= NEUTRAL:
            configs = ALGORITHMS / result["algorithm"] / "configs"
            found[configs / f"{name}.yaml"] = reached(result, path)
        elif path.stem in TRIED:
            returns = [run["improved"]["return"] for run in result["runs"]]
            steps = result["settings"]["total_steps"]
            found[ALGORITHMS / TRIED[path.stem]] = line_of(returns, steps, path)
    return found


def note_all(noted: Mapping[Path, str] | None = None) -> Iterator[Path]:
    """Write lines into their files, and give the files that changed."""
    for path, line in (lines() if noted is None else noted).items():
        text = path.read_text("utf-8")
        rest = text.partition("\n")[2] if text.startswith(START) else text
        if text != f"{line}\n{rest}":
            path.write_text(f"{line}\n{rest}", encoding="utf-8")
            yield path
