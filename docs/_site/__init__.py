"""Turns the pages of `docs/` into plain Markdown: `render(path, markdown)`.

A page may hold directives, `::: summary learning`, and fences of Python may ask for
sources, `--8<-- "abstractions.py#Trainer"`. What they stand for is computed from the
code and from committed results. MkDocs calls it by `docs/hooks.py`.
"""

from . import algorithms, course, diffs, directives, results, sources

__all__ = ["algorithms", "course", "diffs", "render", "results"]


def render(path: str, markdown: str) -> str:
    """The Markdown of a page, which has a path such as `course/10-ppo.md`."""
    text = sources.with_sources(markdown)
    text = directives.expand(directives.Page(path, markdown), text)
    return sources.with_annotations(text)
