"""The algorithms of the package, and how each differs from its parent."""

import ast
import functools
import importlib
import io
import pkgutil
import tokenize
from dataclasses import dataclass
from pathlib import Path

import yieldrl.algorithms

PACKAGE = yieldrl.algorithms.__name__
PARTS = ("Algorithm", "Model", "Agent", "Trainer", "Config")


@dataclass(frozen=True)
class Member:
    """An algorithm's place in the family."""

    name: str  # of its folder
    parents: tuple[str, ...]  # folders of the classes that its own extend, nearest only
    changed: tuple[str, ...]  # classes that the folder itself defines
    lines: int  # of code


def folders() -> dict[str, Path]:
    """Name -> folder of every algorithm of the package."""
    found = {
        module.name: Path(home) / module.name
        for home in yieldrl.algorithms.__path__
        for module in pkgutil.iter_modules([home])
        if module.ispkg
    }
    return dict(sorted(found.items()))


def folder(name: str) -> Path:
    """The folder of an algorithm; ValueError if there is none of this name."""
    known = folders()
    if name not in known:
        names = ", ".join(known)
        raise ValueError(f"no algorithm is called {name!r}: choose one of {names}")
    return known[name]


def descriptions() -> dict[str, str]:
    """Name -> first line of its docstring, read without importing PyTorch."""
    trees = {
        name: ast.parse((home / "__init__.py").read_text("utf-8-sig"))
        for name, home in folders().items()
    }
    said = {name: ast.get_docstring(tree) or "" for name, tree in trees.items()}
    return {name: text.partition("\n")[0] for name, text in said.items()}


def members() -> list[Member]:
    """All algorithms, each after its parents."""
    ordered: dict[str, Member] = {}

    def add(name: str) -> None:
        member = _member(name)
        for parent in member.parents:
            add(parent)
        ordered[name] = member

    for name in folders():
        add(name)
    return list(ordered.values())


def tree() -> list[tuple[int, Member]]:
    """All algorithms, each below its nearest parent, with its depth."""
    known = members()

    def below(parents: tuple[str, ...], depth: int) -> list[tuple[int, Member]]:
        rows: list[tuple[int, Member]] = []
        for member in known:
            if member.parents[:1] == parents:
                rows += [(depth, member), *below((member.name,), depth + 1)]
        return rows

    return below((), 0)


def code_lines(source: str) -> int:
    """Lines that hold code: neither blank, nor comment, nor docstring.

    >>> code_lines('"Adds."\\n\\ndef add(a, b):\\n    # why\\n    return a + b\\n')
    2
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


_NO_CODE = {"COMMENT", "DEDENT", "ENDMARKER", "INDENT", "NEWLINE", "NL"}


@functools.cache
def _member(name: str) -> Member:
    module = importlib.import_module(f"{PACKAGE}.{name}")
    classes: dict[str, type] = {part: getattr(module, part) for part in PARTS}
    changed = [part for part, cls in classes.items() if _home(cls) == name]
    related = dict.fromkeys(
        home
        for part in changed or PARTS
        for cls in classes[part].__mro__
        if (home := _home(cls)) not in (None, name)
    )
    # What a related folder extends is farther away than that folder.
    farther = {parent for home in related for parent in _member(home).parents}
    sources = folder(name).glob("*.py")
    return Member(
        name=name,
        parents=tuple(home for home in related if home not in farther),
        changed=tuple(changed),
        lines=sum(code_lines(path.read_text("utf-8-sig")) for path in sources),
    )


def _home(cls: type) -> str | None:
    """The algorithm folder that defines a class; None for other classes."""
    package, _, rest = cls.__module__.partition(f"{PACKAGE}.")
    return rest.partition(".")[0] if rest and not package else None
