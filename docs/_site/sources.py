"""Sources in fences: a class or function as it is today, with annotations.

- `--8<-- "abstractions.py#Trainer.evaluate"` is the source of that class or function:
  no markers in the code, and no line numbers that drift.
- After a source, `--8<-- (1) "delta = "` makes the one line that holds this text carry
  annotation 1, and `--8<-- without docstrings` leaves docstrings out.
- `::: yieldrl.buffers.*` is the reference of every name that a package exports.
"""

import ast
import importlib
import re
import textwrap
from typing import Any

from .directives import ROOT, Page, directive

SYMBOL = re.compile(r'^( *)--8<-- "([\w/]+\.py)#([\w.]+)"$', re.MULTILINE)
FENCE = re.compile(r"^( *)(`{3,})[^`\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r'^ *--8<-- \((\d+)\) "(.+)"\n', re.MULTILINE)
SHORT = re.compile(r"^ *--8<-- without docstrings\n", re.MULTILINE)
DOCSTRING = re.compile(r'^ +"""(?:.*?)"""\n', re.MULTILINE | re.DOTALL)


@directive(r"(yieldrl[\w.]*)\.\*")
def exports(_: Page, package: str) -> str:
    """A reference of every name that a package exports."""
    names = importlib.import_module(package).__all__
    return "\n\n".join(f"::: {package}.{name}" for name in names)


def with_sources(markdown: str) -> str:
    """A page with the sources that its fences ask for."""
    return SYMBOL.sub(
        lambda match: textwrap.indent(source(match[2], match[3]), match[1]), markdown
    )


def source(path: str, symbol: str) -> str:
    """The source of a class, function or constant, unindented; or of all `imports`."""
    text = (ROOT / path).read_text("utf-8")
    node: Any = ast.parse(text)
    start = node
    for name in symbol.split("."):
        named = [child for child in node.body if name in _names(child)]
        if not named:
            raise ValueError(f"{path} has no {symbol}: {name} is missing")
        node = named[-1]  # a property's setter comes after its getter
        start = named[0] if symbol == "imports" else node
    first = min(
        [start.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]
    )
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def _names(node: Any) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return ["imports"]
    targets = getattr(node, "targets", [getattr(node, "target", node)])
    return [getattr(of, "id", getattr(of, "name", "")) for of in targets]


def with_annotations(markdown: str) -> str:
    """A page with annotations where its fences have marks for them."""
    return FENCE.sub(lambda match: annotated(match[0]), markdown)


def annotated(fence: str) -> str:
    """A fence with its marks as annotations of the lines that they name."""
    marks, short = MARK.findall(fence), SHORT.search(fence)
    fence = SHORT.sub("", MARK.sub("", fence))
    lines = (DOCSTRING.sub("", fence) if short else fence).split("\n")
    for number, text in marks:
        held = [at for at, line in enumerate(lines[1:-1], 1) if text in line]
        if len(held) != 1:
            raise ValueError(f"{len(held)} lines hold {text!r}, expected one")
        lines[held[0]] += f"  # ({number})!"
    return "\n".join(lines)
