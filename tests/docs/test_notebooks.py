"""The notebooks run, and the `.ipynb` files are what their sources give."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
SOURCES = sorted(p for p in FOLDER.glob("*.py") if p.name != "execute.py")
ALWAYS = pytest.param(FOLDER / "one_transition.py", id="one_transition")
OTHERS = [
    pytest.param(path, id=path.stem, marks=pytest.mark.slow)
    for path in SOURCES
    if path.stem != "one_transition"
]
each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)

# Jupyter warns of its own future at import, so that it has processes of its own here.


def cells(notebook: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """A folder of what all sources give."""
    folder = tmp_path_factory.mktemp("converted")
    command = [sys.executable, "-m", "jupytext", "--to", "ipynb"]
    copies = [shutil.copy(source, folder) for source in SOURCES]
    done = subprocess.run([*command, *copies], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@each_source
def test_source_and_notebook_have_the_same_cells(source, converted):
    given, saved = (
        json.loads((folder / source.name).with_suffix(".ipynb").read_text("utf-8"))
        for folder in (converted, FOLDER)
    )
    remedy = f"run: python notebooks/execute.py {source.name}"
    assert cells(given) == cells(saved), remedy


@each_source
def test_outputs_are_small_and_say_nothing_of_the_machine(source):
    saved = source.with_suffix(".ipynb")
    assert saved.stat().st_size < 300_000
    notebook = json.loads(saved.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for output in (output for cell in code for output in cell["outputs"]):
        assert output.get("name") != "stderr"
        text = str(output.get("text", "")) + str(
            output.get("data", {}).get("text/plain")
        )
        assert not re.search(r"/(home|root|tmp|work|Users)/|[A-Z]:\\", text)


@pytest.mark.parametrize("source", [ALWAYS, *OTHERS])
def test_it_runs(source, tmp_path):
    """With a thirtieth of the training: of 60_000 steps 2_000 are left."""

    def fewer(steps):
        return f"{int(steps[0]) // 30:_}"

    text, shorter = re.subn(r"\b\d*0_000\b", fewer, source.read_text("utf-8"))
    assert shorter
    (tmp_path / source.name).write_text(text, encoding="utf-8")
    shutil.copy(FOLDER / "execute.py", tmp_path)
    command = [sys.executable, "execute.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / source.name).with_suffix(".ipynb").exists()
