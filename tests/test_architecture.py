"""The arrows between rooms run one way."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "core": "",
    "functional": "core",
    "envs": "core",
    "networks": "core",
    "buffers": "core functional",
    "loggers": "core envs",
    "collectors": "buffers core envs",
    "distributed": "collectors core envs networks",
    "experiments": "collectors core distributed envs loggers networks",
    "abstractions": "collectors core envs experiments networks",
    "imagination": ("abstractions buffers core experiments functional networks vla"),
    "vla": "abstractions core functional networks",
    "language": "abstractions core functional networks vla",
    "algorithms": (
        "abstractions buffers collectors core envs experiments functional "
        "imagination language networks vla"
    ),
    "exercises": (
        "abstractions algorithms buffers collectors core envs experiments networks"
    ),
    "exports": "abstractions algorithms core experiments loggers networks",
    "cli": (
        "abstractions algorithms collectors core exercises experiments exports "
        "loggers vla"
    ),
}
"""Room -> the rooms that it may import when it runs."""


@cache
def parsed(file):
    return ast.parse(file.read_text())


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes(tree, *, type_checking=False):
    """Import statements of running code, at the top or inside functions."""
    for node in ast.iter_child_nodes(tree):
        if is_for_type_checkers(node) and not type_checking:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        else:
            yield from nodes(node, type_checking=type_checking)


def imports(tree):
    """Names of modules that running code imports absolutely."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_of(room):
    """A room's files; `__main__.py` is a door to the command line, not a part."""
    file = ROOT / f"{room}.py"
    files = [file] if file.exists() else sorted((ROOT / room).rglob("*.py"))
    return [file for file in files if file.name != "__main__.py"]


def test_a_room_imports_only_what_lies_below_it():
    for room, allowed in ALLOWED.items():
        for file in files_of(room):
            for name in imports(parsed(file)):
                parts = name.split(".")
                if parts[0] == "yieldrl" and len(parts) > 1 and parts[1] in ALLOWED:
                    assert parts[1] in {room, *allowed.split()}, file


def test_no_circle():
    graph = {room: allowed.split() for room, allowed in ALLOWED.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("envs") < order.index("abstractions") < order.index("cli")


def module_name(file):
    parts = ("yieldrl", *file.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): file for room in ALLOWED for file in files_of(room)}
"""Module -> its file, of all rooms; the root only passes one name on."""


@cache
def imported_names(module):
    """(module, name in it or None, name here) of each import, for type checkers too."""
    file, found = MODULES[module], []
    for node in nodes(parsed(file), type_checking=True):
        if isinstance(node, ast.Import):
            found += [(alias.name, None, alias.asname) for alias in node.names]
            continue
        parts = module.split(".")
        up = node.level - (file.name == "__init__.py") if node.level else len(parts)
        source = ".".join([*parts[: len(parts) - up], *filter(None, [node.module])])
        found += [(source, a.name, a.asname or a.name) for a in node.names]
    return found


def modules_behind(source, name):
    """Modules that an import of a name reads: a package, and what defines the name."""
    if f"{source}.{name}" in MODULES:
        return {f"{source}.{name}"}
    if source not in MODULES:
        return set()
    if name is not None and MODULES[source].name == "__init__.py":
        for origin, original, here in imported_names(source):
            if here == name and origin != source:
                return {source} | modules_behind(origin, original)
    return {source}


def files_imported(module):
    imported = imported_names(module)
    found = {m for source, name, _ in imported for m in modules_behind(source, name)}
    return found - {module}


def test_no_circle_of_files():
    """Imports for type checkers count too: who reads one file must open the other."""
    graph = {module: files_imported(module) for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("imported by: " + " -> ".join(error.args[1]))


def test_an_algorithm_imports_its_own_files_relatively():
    """So that a copied folder runs anywhere."""
    for folder in (ROOT / "algorithms").iterdir():
        own = f"yieldrl.algorithms.{folder.name}"
        for file in folder.glob("*.py"):
            assert own not in set(imports(ast.parse(file.read_text())))
