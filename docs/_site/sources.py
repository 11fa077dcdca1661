"""Sources in fences: a class or function as it is today, with annotations.

- `--8<-- "abstractions.py#Trainer.evaluate"` is the source of that class or function:
  no markers in the code, and no line numbers that drift.
- After a source, `--8<-- (1) "delta = "` makes the one line that holds this text carry
  annotation 1, and `--8<-- without docstrings` leaves docstrings out.
- `::: yieldrl.buffers.*` is the reference of every name that a package exports.
"""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

from .directives import ROOT, DirectiveError, directive

SYMBOL = re.compile(r'^( *)--8<-- "([\w/]+\.py)#([\w.]+)"$', re.MULTILINE)
FENCE = re.compile(r"^( *)(`{3,})[^`\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r'^ *--8<-- \((\d+)\) "(.+)"\n', re.MULTILINE)
SHORT = re.compile(r"^ *--8<-- without docstrings\n", re.MULTILINE)
DOCSTRING = re.compile(r'^ +"""(?:.*?)"""\n', re.MULTILINE | re.DOTALL)


def with_sources(markdown: str) -> str:
    """A page with the sources that its fences ask for."""
    return SYMBOL.sub(
        lambda match: textwrap.indent(source(match[2], match[3]), match[1]), markdown
    )


def with_annotations(markdown: str) -> str:
    """A page with annotations where its fences have marks for them."""
    return FENCE.sub(lambda match: annotated(match[0]), markdown)


@directive(r"(yieldrl[\w.]*)\.\*")
def exports(package: str) -> str:
    """A reference of every name that a package exports."""
    path = "/".join([*package.split(".")[1:], "__init__.py"])
    names = ast.literal_eval(source(path, "__all__").partition("=")[2].strip())
    return "\n\n".join(f"::: {package}.{name}" for name in names)


def source(path: str, symbol: str) -> str:
    """The source of a class, function or constant, unindented; or of all `imports`."""
    text = (ROOT / path).read_text("utf-8")
    node: Any = ast.parse(text)
    if symbol == "imports":
        imports = [n for n in node.body if isinstance(n, ast.Import | ast.ImportFrom)]
        lines = text.splitlines()[imports[0].lineno - 1 : imports[-1].end_lineno]
        return "\n".join(lines)
    for name in symbol.split("."):
        named = [child for child in node.body if name in _names(child)]
        if not named:
            raise DirectiveError(f"{path} has no {symbol}: {name} is missing")
        node = named[-1]  # a property's setter comes after its getter
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]


def annotated(fence: str) -> str:
    """A fence with its marks as annotations of the lines that they name."""
    marks, short = MARK.findall(fence), SHORT.search(fence)
    if not marks and not short:
        return fence
    fence = SHORT.sub("", MARK.sub("", fence))
    lines = (DOCSTRING.sub("", fence) if short else fence).splitlines()
    for number, text in marks:
        held = [at for at, line in enumerate(lines[1:-1], 1) if text in line]
        if len(held) != 1:
            raise DirectiveError(f"{len(held)} lines hold {text!r}, expected one")
        lines[held[0]] += f"  # ({number})!"
    return "\n".join(lines)
