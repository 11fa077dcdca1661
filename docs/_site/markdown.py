"""What several functions of pages write: tables, files of HTML."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
_files = FileSystemLoader(Path(__file__).parent)
_templates = Environment(loader=_files, autoescape=True, undefined=StrictUndefined)


def filled(template: str, **values: Any) -> str:
    """A file of HTML in this folder with values, its tags on one line, as in a list."""
    text = _templates.get_template(template).render(values)
    return re.sub(r"(?<=>)\s*\n\s*(?=<)", "", text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
