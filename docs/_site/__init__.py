"""Turns the pages of `docs/` into plain Markdown: `render(path, markdown)`.

A page is a template of Jinja, and `{{ result("vla-goto") }}` calls a function of these
modules. Fences may ask for sources, `--8<-- "abstractions.py#Trainer"`.
"""

from jinja2 import Environment, StrictUndefined

from . import algorithms, course, diffs, results, sources

PAGES = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
for _module in (algorithms, course, diffs, results, sources):
    PAGES.globals.update(vars(_module))


def render(path: str, markdown: str) -> str:
    """The Markdown of a page, which has a path such as `course/10-ppo.md`."""
    page = {"path": path, "source": markdown, "to_docs": "../" * path.count("/")}
    return sources.with_sources(PAGES.from_string(markdown).render(page))
