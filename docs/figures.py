"""The site's figures, drawn from committed results while it is built.

A page refers to `results/NAME.svg` as to any other file; `docs/tables.py` does, too.
Only what a page refers to is drawn, and kept in `.cache/figures` until the results or
the code that draws them change. A result that its command would not give today, because
the task, the claim or a default has changed since, is no figure: the build fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from yieldrl.benchmarks import current, plot, results

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "figures"
# What a figure is drawn with.
CODE = ("benchmarks/**/*.py", "benchmarks/**/*.yaml", "experiments/plot.py")
SHOWN = re.compile(r"\bresults/([\w.-]+)\.svg\b")


def on_pre_build(**_: Any) -> None:
    """Refuse results that no longer match their source.

    Raises:
        PluginError: If there is one; it says what has changed.
    """
    faults = [
        f"benchmarks/results/{path.name}: {difference}"
        for path in sorted(results.FOLDER.glob("*.json"))
        for difference in current.differences(path.stem, results.load(path))
    ]
    if faults:
        raise PluginError("measure again, or undo what changed:\n" + "\n".join(faults))


def on_files(files: Files, config: Any) -> Files:
    """Add the committed results, and every figure that can be drawn from them."""
    for path in sorted(results.FOLDER.glob("*.json")):
        uri = f"results/{path.name}"
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for name, figure in plot.figures().items():
        uri, path = f"results/{name}.svg", cached(name, figure)
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_env(env: Any, files: Files, **_: Any) -> Any:
    """Draw the figures that pages refer to, and leave out the others."""
    pages = [file.page for file in files.documentation_pages() if file.page]
    shown = {name for page in pages for name in SHOWN.findall(page.content or "")}
    for name, figure in plot.figures().items():
        file = files.get_file_from_path(f"results/{name}.svg")
        if file is None or file.abs_src_path is None:
            raise PluginError(f"results/{name}.svg was not there when pages were read")
        if name in shown:
            draw(figure, Path(file.abs_src_path))
        else:
            files.remove(file)
    return env


def draw(figure: plot.Figure, path: Path) -> None:
    """Draw a figure, unless it was drawn already.

    Raises:
        PluginError: If matplotlib is not installed.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        figure.draw(figure.data, unfinished)
    except ModuleNotFoundError as error:
        raise PluginError(f"{error}: pip install -e '.[docs]'") from error
    for outdated in path.parent.glob("*.svg"):
        outdated.unlink(missing_ok=True)
    unfinished.rename(path)


def cached(name: str, figure: plot.Figure) -> Path:
    """Where a figure is kept: a file named after all that it depends on."""
    digest = hashlib.sha256(json.dumps(figure.data).encode())
    for path in (file for pattern in CODE for file in sorted(ROOT.glob(pattern))):
        digest.update(path.read_bytes())
    return CACHE / name / f"{digest.hexdigest()[:16]}.svg"
