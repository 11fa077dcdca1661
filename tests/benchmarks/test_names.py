"""The benchmarks have one name in Python, `yieldrl.benchmarks`.

Ruff refuses the bare one wherever it is imported (see `tests/test_packaging.py`).
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_command_imports_the_package_by_its_one_name() -> None:
    """It runs one file as `benchmarks`; relative imports would follow that name."""
    tree = ast.parse((ROOT / "benchmarks" / "__main__.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert "yieldrl.benchmarks" in {node.module for node in imports}
    assert all(node.level == 0 for node in imports)
