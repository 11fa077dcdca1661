"""The notebooks run, and what they keep of that is small and of no machine."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALWAYS = "one_transition"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Jupyter warns of its own future at import, so that it has processes of its own here.


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_small_and_say_nothing_of_the_machine(notebook):
    assert notebook.stat().st_size < 300_000
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for output in (output for cell in code for output in cell["outputs"]):
        assert output.get("name") != "stderr"
        text = str(output.get("text", "")) + str(
            output.get("data", {}).get("text/plain")
        )
        assert not re.search(r"/(home|root|tmp|work|Users)/|[A-Z]:\\", text)


@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.slow] * (path.stem != ALWAYS)
        )
        for path in NOTEBOOKS
    ],
)
def test_it_runs(notebook, tmp_path):
    """With a thirtieth of the training: of 60_000 steps 2_000 are left."""

    def fewer(steps):
        return f"{int(steps[0]) // 30:_}"

    text, shorter = re.subn(r"\b\d*0_000\b", fewer, notebook.read_text("utf-8"))
    assert shorter
    copy = tmp_path / notebook.name
    copy.write_text(text, encoding="utf-8")
    command = [sys.executable, ROOT / ".ci" / "notebooks", copy]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
