"""`::: difference of c51` is the diff of an algorithm's folder and its parents.

`::: difference of c51 Model Algorithm` shows some classes or functions of the folder.
Classes are compared member by member with those that they extend; a method that calls
`super()` is shown as an addition. Docstrings and checks of settings are left out.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .directives import DirectiveError, directive

PACKAGE = "yieldrl.algorithms"
FILES = ("config", "model", "algorithm", "agent", "trainer")
CHECKS = "__post_init__"
Definition = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign


@directive(r"difference of (\w+)((?: \w+)*)")
def shown(algorithm: str, some: str) -> str:
    """A block of all that a folder changes, or of some names in it."""
    found = difference(algorithm)
    names = some.split()
    lost = [name for name in names if name not in found]
    if lost or not found:
        raise DirectiveError(f"algorithms/{algorithm} changes no {' '.join(lost)}")
    body = "\n\n".join(found[name] for name in names or found)
    return f'```diff title="algorithms/{algorithm}"\n{body}\n```'


def difference(algorithm: str) -> dict[str, str]:
    """Class or function of an algorithm's folder -> its lines, marked as in a diff."""
    found: dict[str, str] = {}
    package = importlib.import_module(f"{PACKAGE}.{algorithm}")
    home = Path(str(package.__file__)).parent
    for file in [name for name in FILES if (home / f"{name}.py").exists()]:
        module = importlib.import_module(f"{package.__name__}.{file}")
        for name, node in definitions(tree(module)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            thing = getattr(module, name)
            varies = inspect.isclass(thing) and parents(thing)
            found[name] = changed(thing) if varies else added(text(module, node))
    return {name: lines for name, lines in found.items() if lines}


def changed(cls: type) -> str:
    """The members of a class that differ from those that it extends."""
    own = [compared(cls, name, node) for name, node in definitions(of_class(cls))]
    bases = ", ".join(map(titled, cls.__bases__))
    fields = [lines for lines in own if lines and "def " not in lines]
    methods = [lines for lines in own if "def " in lines]
    body = "\n \n".join(filter(None, ["\n".join(fields), *methods]))
    return f" class {cls.__name__}({bases}):\n{body}" if body else ""


def compared(cls: type, name: str, node: Definition) -> str:
    """A member's diff to that of the nearest parent; nothing if they are the same."""
    own = member(cls, name, node)
    for parent in parents(cls):
        for other, inherited in definitions(of_class(parent)):
            if other == name and f"super().{name}(" not in own:
                before = member(parent, name, inherited)
                return diff(before, own) if before != own else ""
    return added(own)


def diff(before: str, after: str) -> str:
    """A unified diff with all lines, without its header."""
    sides = before.splitlines(), after.splitlines()
    return "\n".join([*difflib.unified_diff(*sides, n=sum(map(len, sides)))][3:])


def added(source: str) -> str:
    """All lines with a plus."""
    return textwrap.indent(source, "+", lambda _: True)


def member(cls: type, name: str, node: Definition) -> str:
    """Lines of a member; a class is shown by its name and folder."""
    value = vars(cls).get(name)
    if inspect.isclass(value):
        return f"    {name} = {titled(value)}"
    return text(inspect.getmodule(cls), node)


def text(module: Any, node: Definition) -> str:
    """The lines of a definition, without docstrings."""
    lines = inspect.getsource(module).splitlines()
    hidden = {
        line
        for part in ast.walk(node)
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
        for line in range(part.lineno, (part.end_lineno or 0) + 1)
    }
    hidden |= {line + 1 for line in hidden if lines[line : line + 1] == [""]}
    decorated = [part.lineno for part in getattr(node, "decorator_list", [])]
    span = range(min([node.lineno, *decorated]), (node.end_lineno or 0) + 1)
    return "\n".join(lines[at - 1] for at in span if at not in hidden)


def definitions(node: ast.Module | ast.ClassDef) -> Iterator[tuple[str, Definition]]:
    """What a module or a class defines, by name; a bare annotation defines nothing."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name != CHECKS:
            yield part.name, part
        elif isinstance(part, ast.AnnAssign | ast.Assign) and part.value:
            target = part.target if isinstance(part, ast.AnnAssign) else part.targets[0]
            yield ast.unparse(target), part


def tree(module: Any) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(inspect.getsource(module))


def of_class(cls: type) -> ast.ClassDef:
    """The syntax tree of a class."""
    found = dict(definitions(tree(inspect.getmodule(cls))))[cls.__name__]
    assert isinstance(found, ast.ClassDef)
    return found


def parents(cls: type) -> list[type]:
    """The classes of other algorithms that it extends, the nearest first."""
    return [base for base in cls.__mro__[1:] if base.__module__.startswith(PACKAGE)]


def titled(cls: type) -> str:
    """A class with its folder: `dqn.Algorithm`, `buffers.ReplayBuffer`."""
    return f"{cls.__module__.split('.')[-2]}.{cls.__name__}"
