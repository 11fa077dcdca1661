"""The site's own files, which belong to no package."""

from __future__ import annotations

from pathlib import Path

from yieldrl.docs._site import render

DOCS = Path(__file__).parents[1] / "docs"


def rendered(markdown: str, path: str = "page.md") -> str:
    """A page as the site shows it, of a path below `docs/`."""
    return render(path, markdown)
