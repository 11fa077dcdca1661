"""Sources in fences: a class or function as it is today, with annotations.

Below `--8<-- "abstractions.py#Trainer.evaluate"`, `--8<-- (1) "delta = "` makes the one
line that holds this text carry annotation 1; `--8<-- without docstrings` says itself.
"""

import ast
import importlib
import re
import textwrap
from typing import Any

from .markdown import ROOT

SYMBOL = re.compile(r'^( *)--8<-- "([\w/]+\.py)#([\w.]+)"$', re.MULTILINE)
FENCE = re.compile(r"^( *)(`{3,})[^`\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r'^ *--8<-- \((\d+)\) "(.+)"\n', re.MULTILINE)
SHORT = re.compile(r"^ *--8<-- without docstrings\n", re.MULTILINE)
DOCSTRING = re.compile(r'^ +"""(?:.*?)"""\n\n?', re.MULTILINE | re.DOTALL)


def exports(package: str) -> str:
    """A reference of every name that a package exports."""
    names = importlib.import_module(package).__all__
    return "\n\n".join(f"::: {package}.{name}" for name in names)


def with_sources(markdown: str) -> str:
    """A page with the sources that its fences ask for, and with their annotations."""
    text = SYMBOL.sub(lambda of: textwrap.indent(source(of[2], of[3]), of[1]), markdown)
    return FENCE.sub(_annotated, text)


def source(path: str, symbol: str) -> str:
    """The source of a class, function or constant, unindented."""
    text = (ROOT / path).read_text("utf-8")
    node: Any = ast.parse(text)
    for name in symbol.split("."):
        named = [child for child in node.body if named_by(child) == name]
        if not named:
            raise ValueError(f"{path} has no {symbol}: {name} is missing")
        node = named[-1]  # a property's setter comes after its getter
    return textwrap.dedent(lines(text, node))


def lines(source: str, node: Any) -> str:
    """The lines of a definition, decorators included."""
    begin = min(part.lineno for part in [node, *getattr(node, "decorator_list", [])])
    return "\n".join(source.splitlines()[begin - 1 : node.end_lineno])


def named_by(node: Any) -> str:
    """The name that a statement defines, or nothing."""
    target = getattr(node, "targets", [getattr(node, "target", node)])[0]
    return getattr(target, "id", getattr(target, "name", ""))


def _annotated(match: re.Match[str]) -> str:
    """A fence with its marks as annotations of the lines that they name."""
    fence = SHORT.sub("", MARK.sub("", match[0]))
    lines = (DOCSTRING.sub("", fence) if SHORT.search(match[0]) else fence).split("\n")
    for number, text in MARK.findall(match[0]):
        held = [at for at, line in enumerate(lines[1:-1], 1) if text in line]
        if len(held) != 1:
            raise ValueError(f"{len(held)} lines hold {text!r}, expected one")
        lines[held[0]] += f"  # ({number})!"
    return "\n".join(lines)
