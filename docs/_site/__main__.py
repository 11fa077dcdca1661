"""Write the site's sources as plain files: `python -m docs._site FOLDER`.

Pages are rendered, figures that they refer to are drawn; everything else of `docs/`,
committed results and notebooks are copied. Any generator of sites can go on from there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from yieldrl.benchmarks import plot, results

from . import render, result_figures
from .directives import DOCS, ROOT

IGNORED = shutil.ignore_patterns("*.py", "__pycache__", "authoring.md")


def write(folder: Path) -> None:
    """Write all pages and what they refer to into a folder, which must be new."""
    result_figures.check_results()
    shutil.copytree(DOCS, folder, ignore=IGNORED)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, folder)
    shown: set[str] = set()
    for page in folder.rglob("*.md"):
        text = render(page.relative_to(folder).as_posix(), page.read_text("utf-8"))
        page.write_text(text, encoding="utf-8")
        shown.update(result_figures.FIGURE.findall(text))
    shutil.copytree(results.FOLDER, folder / "results")
    for name, figure in plot.figures().items():
        if name in shown:
            path = result_figures.cached(name, figure)
            result_figures.draw(figure, path)
            shutil.copy(path, folder / "results" / f"{name}.svg")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
