"""The diff of an algorithm's folder and its parents."""

import ast
import difflib
import importlib
import inspect
from functools import cache
from importlib.util import find_spec
from typing import Any

from . import sources

PACKAGE = "yieldrl.algorithms"
DEFINITIONS = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign
FILES = ("config", "model", "algorithm", "agent", "trainer")


def difference(algorithm: str, some: str = "") -> str:
    """A block of all that a folder changes, or of `some` names in it.

    Classes are compared member by member with those that they extend; a method that
    calls `super()` is shown as an addition, without docstrings.
    """
    found = {}
    for file in (f"{PACKAGE}.{algorithm}.{file}" for file in FILES):
        module = importlib.import_module(file) if find_spec(file) else None
        for name, lines in definitions(module).items() if module else ():
            thing = getattr(module, name)
            if inspect.isclass(thing) and parents(thing):
                found[name] = changed(thing)
            elif inspect.isclass(thing) or inspect.isfunction(thing):
                found[name] = diff("", lines)
    names = some.split() or [name for name, lines in found.items() if lines]
    body = "\n\n".join(found[name] for name in names)
    return f'```diff title="algorithms/{algorithm}"\n{body}\n```'


def changed(cls: type) -> str:
    """The members of a class that differ from those that it extends."""
    fields, methods = [], []
    for name, own in definitions(cls).items():
        inherited = (definitions(parent).get(name) for parent in parents(cls))
        before = next(filter(None, inherited), "")
        lines = diff("" if f"super().{name}(" in own else before, own)
        (methods if "def " in lines else fields).append(lines)
    body = "\n \n".join(filter(None, ["\n".join(filter(None, fields)), *methods]))
    bases = ", ".join(map(titled, cls.__bases__))
    return f" class {cls.__name__}({bases}):\n{body}" if body else ""


def diff(before: str, after: str) -> str:
    """A unified diff with all lines, without its header; nothing if they are equal."""
    sides = before.splitlines(), after.splitlines()
    return "\n".join([*difflib.unified_diff(*sides, n=sum(map(len, sides)))][3:])


@cache
def definitions(thing: Any) -> dict[str, str]:
    """Name -> lines of what a module or a class defines, without docstrings.

    A class in a class is shown by its name; a bare annotation defines nothing.
    """
    source = inspect.getsource(thing)
    node: Any = ast.parse(source)
    found = {}
    for part in node.body[0].body if inspect.isclass(thing) else node.body:
        if isinstance(part, DEFINITIONS) and getattr(part, "value", part):
            name = sources.named_by(part)
            text = sources.DOCSTRING.sub("", sources.lines(source, part)).rstrip()
            value: Any = vars(thing).get(name)
            is_named = inspect.isclass(thing) and inspect.isclass(value)
            found[name] = f"    {name} = {titled(value)}" if is_named else text
    found.pop("__post_init__", None)  # what is checked of settings
    return found


def parents(cls: type) -> list[type]:
    """The classes of other algorithms that it extends, the nearest first."""
    return [base for base in cls.__mro__[1:] if base.__module__.startswith(PACKAGE)]


def titled(cls: type) -> str:
    """A class with its folder: `dqn.Algorithm`, `buffers.ReplayBuffer`."""
    return f"{cls.__module__.split('.')[-2]}.{cls.__name__}"
