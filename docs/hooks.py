"""MkDocs' hooks: all that they do is in `docs/_site`, which knows no generator.

- Pages are rendered: directives and sources are put in.
- Notebooks are pages, though they lie outside of `docs/`.
- The reference is made from a copy of the package: the root of the repository is the
  package, and looking for modules in it would mean looking through `.venv`.
- The build fails if a page would ask another host for something.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from setuptools import find_packages

from yieldrl.docs._site import DirectiveError, html_output, render

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / ".cache" / "reference"


@contextmanager
def plugin_errors() -> Iterator[None]:
    """Let MkDocs end with an error's message, without a traceback."""
    try:
        yield
    except DirectiveError as error:
        raise PluginError(str(error)) from error


@event_priority(100)  # before mkdocstrings looks at its paths
def on_config(config: Any) -> Any:
    """Lay out the package where the reference is made from it."""
    shutil.rmtree(REFERENCE, ignore_errors=True)
    rooms = find_packages(ROOT)
    for folder in (Path(), *(Path(room.replace(".", "/")) for room in rooms)):
        (REFERENCE / "yieldrl" / folder).mkdir(parents=True)
        for path in (ROOT / folder).glob("*.py"):
            shutil.copyfile(path, REFERENCE / "yieldrl" / folder / path.name)
    return config


@event_priority(100)  # before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: Any) -> Files:
    """Add the notebooks."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        urls = config.use_directory_urls
        files.append(File(path.name, str(path.parent), config.site_dir, urls))
    return files


@plugin_errors()
def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Render a page."""
    return render(page.file.src_uri, markdown)


@plugin_errors()
def on_page_content(content: str, page: Any, files: Files, **_: Any) -> str:
    """Let a notebook look like every other page, and the reference name real files."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html_output.reference(content)

    def url_of(path: str) -> str:
        target = files.get_file_from_path(path)
        if target is None:
            raise DirectiveError(f"{page.file.src_uri} links to docs/{path}: not there")
        return target.url_relative_to(page.file)

    notebook = json.loads(Path(page.file.abs_src_path).read_text("utf-8"))
    return html_output.notebook(content, notebook, page.file.name, url_of)


@plugin_errors()
def on_post_build(config: Any) -> None:
    """Refuse a site that would ask another host for a script, a style or a font."""
    html_output.finish(Path(config.site_dir))


class Doctests(griffe.Extension):
    """Turns `>>>` and what follows it, up to an empty line, into a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, unless griffe knows its section of examples by itself."""
        if obj.docstring is not None and "Examples:" not in obj.docstring.value:
            obj.docstring.value = html_output.with_fences(obj.docstring.value)
