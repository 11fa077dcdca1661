"""Titles of Python blocks that say which names they take from the blocks above.

The tests run the blocks of a page one after the other, in one namespace. A reader who
pastes a single one has to know what it lacks, so that is found in its code.
"""

from __future__ import annotations

import builtins
import dis
import re
import textwrap
from types import CodeType

from .directives import DirectiveError, listed

BLOCK = re.compile(
    r'^(?P<indent> *)```python(?P<title> title="[^"]*")?\n'
    r"(?P<body>.*?)^(?P=indent)``` *$",
    re.MULTILINE | re.DOTALL,
)
OURS = re.compile(r"^(?:import|from) yieldrl\b", re.MULTILINE)
WORLD = '"yieldrl/'  # an id that Gymnasium knows once the package is imported
LONGEST = 4  # names in a title


def with_titles(markdown: str, path: str) -> str:
    """Give blocks that need others a title that says so."""
    known: set[str] = set()

    def titled(match: re.Match[str]) -> str:
        body = textwrap.dedent(match["body"])
        imports = OURS.search(body) is not None
        taken = free_names(body) + ["yieldrl.envs"] * (WORLD in body and not imports)
        if lost := [name for name in taken if name not in known]:
            raise DirectiveError(
                f"{path}: no block above has {', '.join(lost)}:\n{body}"
            )
        if taken and match["title"]:
            raise DirectiveError(f"{path}: a file needs {', '.join(taken)} from above")
        known.update(bound_names(body), ["yieldrl.envs"] * imports)
        if not taken:
            return match[0]
        head, rest = match[0].split("\n", 1)
        return f'{head} title="takes {_shortened(taken)} from above"\n{rest}'

    return BLOCK.sub(titled, markdown)


def free_names(source: str) -> list[str]:
    """Names that code uses and neither binds itself nor finds in the language.

    In the code of the module the order counts: `x = f(x)` needs an x. What functions
    use may be bound after them.
    """
    module = compile(source, "block", "exec")
    bound, free = set(dir(builtins)) | {"__name__"}, dict[str, None]()
    for instruction in dis.get_instructions(module):
        name = str(instruction.argval)
        if instruction.opname == "STORE_NAME":
            bound.add(name)
        elif instruction.opname == "LOAD_NAME" and name not in bound:
            free[name] = None
    for code in _inner(module):
        stored: set[str] = set()
        for instruction in dis.get_instructions(code):
            name = str(instruction.argval)
            if instruction.opname == "STORE_NAME":  # in a class's body
                stored.add(name)
            elif instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"} and (
                name not in bound | stored and not _is_implicit(name)
            ):
                free[name] = None
    return list(free)


def bound_names(source: str) -> set[str]:
    """Names that code binds for the blocks below it."""
    module = compile(source, "block", "exec")
    found = dis.get_instructions(module)
    return {str(of.argval) for of in found if of.opname == "STORE_NAME"}


def _inner(code: CodeType) -> list[CodeType]:
    """All code of functions and classes inside of a piece of code."""
    inside = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [deep for child in inside for deep in (child, *_inner(child))]


def _is_implicit(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _shortened(names: list[str]) -> str:
    short = len(names) <= LONGEST
    return listed(names if short else [*names[: LONGEST - 1], "more"])
