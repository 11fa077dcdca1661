"""The site's figures, drawn from committed results.

A page refers to `results/NAME.svg` as to any other file. Only what a page refers to is
drawn, and kept in `.cache/figures` until the results or the code that draws them
change. A result that its command would not give today, because the task, the claim or a
default has changed since, is no figure: the build fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

from yieldrl.benchmarks import plot, results, stale_results

from .directives import ROOT, DirectiveError

FIGURE = re.compile(r"\bresults/([\w.-]+)\.svg\b")
"""Where a page refers to a figure, by its name."""
CACHE = ROOT / ".cache" / "figures"
# What a figure is drawn with.
CODE = ("benchmarks/**/*.py", "benchmarks/**/*.yaml", "experiments/plot.py")


def check_results() -> None:
    """Refuse results that no longer match their source."""
    faults = [
        f"benchmarks/results/{path.name}: {difference}"
        for path in sorted(results.FOLDER.glob("*.json"))
        for difference in stale_results.differences(path.stem, results.load(path))
    ]
    if faults:
        raise DirectiveError(
            "measure again, or undo what changed:\n" + "\n".join(faults)
        )


def draw(figure: plot.Figure, path: Path) -> None:
    """Draw a figure, unless it was drawn already."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        figure.draw(figure.data, unfinished)
    except ModuleNotFoundError as error:
        raise DirectiveError(f"{error}: pip install -e '.[docs]'") from error
    for outdated in path.parent.glob("*.svg"):
        outdated.unlink(missing_ok=True)
    unfinished.rename(path)


def cached(name: str, figure: plot.Figure) -> Path:
    """Where a figure is kept: a file named after all that it depends on."""
    digest = hashlib.sha256(json.dumps(figure.data).encode())
    for path in (file for pattern in CODE for file in sorted(ROOT.glob(pattern))):
        digest.update(path.read_bytes())
    return CACHE / name / f"{digest.hexdigest()[:16]}.svg"
