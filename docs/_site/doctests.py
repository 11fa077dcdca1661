"""Examples of docstrings as blocks of code, in the reference."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Turns `>>>` and what follows it, up to an empty line, into a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, unless griffe knows its section of examples by itself."""
        if obj.docstring is not None and "Examples:" not in obj.docstring.value:
            fenced = DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
            obj.docstring.value = fenced
