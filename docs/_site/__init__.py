"""Turns the pages of `docs/` into plain Markdown: `render(path, markdown)`.

A page may hold directives, `::: summary learning`, and fences of Python may ask for
sources, `--8<-- "abstractions.py#Trainer"`. What they stand for is computed from the
code and from committed results. Nothing here knows a generator of sites: MkDocs calls
it by `docs/hooks.py`.
"""

from __future__ import annotations

from . import (
    code_blocks,
    course,
    diffs,
    directives,
    family_drawing,
    family_tree,
    gallery,
    hyperparameters,
    phases,
    results,
    sources,
)
from .directives import DirectiveError, Page

__all__ = ["DirectiveError", "Page", "render"]
WITH_DIRECTIVES = (course, diffs, family_drawing, family_tree, gallery, hyperparameters)
WITH_DIRECTIVES += (phases, results, sources)


def render(path: str, markdown: str) -> str:
    """A page as plain Markdown.

    Args:
        path: Of the page below `docs/`, as `course/10-ppo.md`.
        markdown: The page as it was written.

    Raises:
        DirectiveError: If something that the page asks for is not there.
    """
    text = code_blocks.with_titles(markdown, path)  # before sources are in the fences
    text = sources.with_sources(text)
    text = directives.expand(text, Page(path, markdown))
    return sources.with_annotations(text)
