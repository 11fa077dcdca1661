"""Run the notebooks and keep what they showed: `python notebooks/execute.py`.

The `.py` files are the sources. The `.ipynb` files beside them hold the same cells and
their outputs, without what differs from run to run for no reason (times, random ids).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source, executed in a folder of its own.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    notebook = jupytext.read(source)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    notebook.metadata.pop("language_info", None)
    return notebook


def main(names: list[str]) -> None:
    """Execute the named sources, or all, and write the notebooks beside them."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame, without a screen
    sources = [Path(name) for name in names] or sorted(HERE.glob("*.py"))
    for source in sources:
        if source.resolve() != Path(__file__).resolve():
            nbformat.write(execute(source), source.with_suffix(".ipynb"))
            print(source.with_suffix(".ipynb"))


if __name__ == "__main__":
    main(sys.argv[1:])
