"""`::: difference of c51` is the diff of an algorithm's folder and its parents.

`::: difference of c51 Model Algorithm` shows some classes or functions of the folder.
Classes are compared member by member with those that they extend; a method that calls
`super()` is shown as an addition. Docstrings and checks of settings are left out.
"""

import ast
import difflib
import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from .directives import Page, directive

PACKAGE = "yieldrl.algorithms"
DEFINITIONS = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign
FILES = ("config", "model", "algorithm", "agent", "trainer")


@directive(r"difference of (\w+)((?: \w+)*)")
def shown(_: Page, algorithm: str, some: str) -> str:
    """A block of all that a folder changes, or of some names in it."""
    found: dict[str, str] = {}
    package = importlib.import_module(f"{PACKAGE}.{algorithm}")
    there = {module.name for module in pkgutil.iter_modules(package.__path__)}
    for file in [file for file in FILES if file in there]:
        module = importlib.import_module(f"{package.__name__}.{file}")
        for name, lines in definitions(module).items():
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
        inherited = [definitions(parent).get(name, "") for parent in parents(cls)]
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
    module: Any = inspect.getmodule(thing)
    source = inspect.getsource(module)
    node: Any = ast.parse(source)
    if inspect.isclass(thing):
        node = next(n for n in node.body if getattr(n, "name", "") == thing.__name__)
    found = {}
    for part in node.body:
        if not isinstance(part, DEFINITIONS) or not getattr(part, "value", part):
            continue
        targets: Any = getattr(part, "targets", [getattr(part, "target", part)])
        name = getattr(part, "name", None) or ast.unparse(targets[0])
        value: Any = vars(thing).get(name)
        is_named = inspect.isclass(thing) and inspect.isclass(value)
        named = f"    {name} = {titled(value)}" if is_named else ""
        found[name] = named or text(source, part)
    found.pop("__post_init__", None)
    return found


def text(source: str, node: Any) -> str:
    """The lines of a definition, without docstrings."""
    lines = ["", *source.splitlines(), ""]
    hidden = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
            hidden |= {*range(part.lineno, (part.end_lineno or 0) + 1)}
    hidden |= {at + 1 for at in hidden if not lines[at + 1]}
    decorated = [part.lineno for part in getattr(node, "decorator_list", [])]
    span = range(min([node.lineno, *decorated]), node.end_lineno + 1)
    return "\n".join(lines[at] for at in span if at not in hidden)


def parents(cls: type) -> list[type]:
    """The classes of other algorithms that it extends, the nearest first."""
    return [base for base in cls.__mro__[1:] if base.__module__.startswith(PACKAGE)]


def titled(cls: type) -> str:
    """A class with its folder: `dqn.Algorithm`, `buffers.ReplayBuffer`."""
    return f"{cls.__module__.split('.')[-2]}.{cls.__name__}"
