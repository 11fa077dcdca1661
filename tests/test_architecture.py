"""The arrows between rooms run one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "foundations": set(),
    "functional": {"foundations"},
    "envs": {"foundations"},
    "networks": {"foundations"},
    "buffers": {"foundations", "functional"},
    "loggers": {"envs", "foundations"},
    "speed": {"foundations"},
    "runtime": {"foundations", "networks", "speed"},
    "collectors": {"buffers", "envs", "foundations", "speed"},
    "experiments": {
        "collectors",
        "envs",
        "foundations",
        "loggers",
        "networks",
        "runtime",
    },
    "abstractions": {
        "buffers",
        "collectors",
        "experiments",
        "foundations",
        "networks",
        "runtime",
    },
    "vla": {"abstractions", "foundations", "networks"},
    "algorithms": {
        "abstractions",
        "buffers",
        "collectors",
        "envs",
        "experiments",
        "foundations",
        "functional",
        "networks",
        "runtime",
        "speed",
        "vla",
    },
    "exercises": {
        "abstractions",
        "algorithms",
        "buffers",
        "collectors",
        "envs",
        "experiments",
        "foundations",
        "networks",
    },
    "exports": {"abstractions", "algorithms", "foundations", "loggers", "networks"},
    "cli": {
        "abstractions",
        "algorithms",
        "collectors",
        "exercises",
        "experiments",
        "exports",
        "foundations",
        "loggers",
        "vla",
    },
}
"""Room -> the rooms that it may import when it runs."""


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(tree):
    """Names of modules that running code imports, at the top or inside functions."""
    for node in ast.iter_child_nodes(tree):
        if is_for_type_checkers(node):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node)


def files_of(room):
    """A room's files; `__main__.py` is a door to the command line, not a part."""
    file = ROOT / f"{room}.py"
    files = [file] if file.exists() else sorted((ROOT / room).rglob("*.py"))
    return [file for file in files if file.name != "__main__.py"]


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_lies_below_it(room):
    found = set()
    for file in files_of(room):
        for name in imports(ast.parse(file.read_text())):
            parts = name.split(".")
            if parts[0] == "yieldrl" and len(parts) > 1 and parts[1] in ALLOWED:
                found.add(parts[1])
    assert found - {room} <= ALLOWED[room]


def test_no_circle():
    order = list(TopologicalSorter(ALLOWED).static_order())
    assert order.index("envs") < order.index("abstractions") < order.index("cli")


def test_an_algorithm_imports_its_own_files_relatively():
    """So that a copied folder runs anywhere."""
    for folder in (ROOT / "algorithms").iterdir():
        own = f"yieldrl.algorithms.{folder.name}"
        for file in folder.glob("*.py"):
            assert own not in set(imports(ast.parse(file.read_text())))
