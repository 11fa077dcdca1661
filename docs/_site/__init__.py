"""Turns the pages of `docs/` into plain Markdown: `render(path, markdown)`.

A page may hold directives, `::: summary learning`, and fences of Python may ask for
sources, `--8<-- "abstractions.py#Trainer"`. What they stand for is computed from the
code and from committed results. Nothing here knows a generator of sites: MkDocs calls
it by `docs/hooks.py`.
"""

from __future__ import annotations

from . import (
    course,
    diffs,
    directives,
    family_drawing,
    family_tree,
    gallery,
    hyperparameters,
    results,
    sources,
)
from .directives import DirectiveError, Page

__all__ = ["DirectiveError", "Page", "render"]
WITH_DIRECTIVES = (course, diffs, family_drawing, family_tree, gallery, hyperparameters)
WITH_DIRECTIVES += (results, sources)


def render(path: str, markdown: str) -> str:
    """A page as plain Markdown.

    Args:
        path: Of the page below `docs/`, as `course/10-ppo.md`.
        markdown: The page as it was written.

    Raises:
        DirectiveError: If something that the page asks for is not there.
    """
    text = sources.with_sources(markdown)
    text = directives.expand(text, Page(path, markdown))
    return sources.with_annotations(text)
