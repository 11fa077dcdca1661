"""MkDocs' hooks: all that they do is in `docs/_site`, which knows no generator.

- Pages are rendered: directives and sources are put in.
- Notebooks are pages, though they lie outside of `docs/`.
- Committed results and the figures that are drawn from them are files of the site.
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

from yieldrl.benchmarks import plot, results
from yieldrl.docs._site import DirectiveError, html_output, render, result_figures

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
    rooms = find_packages(
        ROOT, exclude=["benchmarks*", "docs*", "notebooks*", "tests*"]
    )
    for folder in (Path(), *(Path(room.replace(".", "/")) for room in rooms)):
        (REFERENCE / "yieldrl" / folder).mkdir(parents=True)
        for path in (ROOT / folder).glob("*.py"):
            shutil.copyfile(path, REFERENCE / "yieldrl" / folder / path.name)
    return config


@plugin_errors()
def on_pre_build(**_: Any) -> None:
    """Refuse results that no longer match their source."""
    result_figures.check_results()


@event_priority(100)  # before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: Any) -> Files:
    """Add notebooks, committed results, and every figure that can be drawn of them."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        urls = config.use_directory_urls
        files.append(File(path.name, str(path.parent), config.site_dir, urls))
    added = {path.name: path for path in sorted(results.FOLDER.glob("*.json"))}
    drawn = plot.figures().items()
    added |= {
        f"{name}.svg": result_figures.cached(name, figure) for name, figure in drawn
    }
    for name, path in added.items():
        files.append(File.generated(config, f"results/{name}", abs_src_path=str(path)))
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
def on_env(env: Any, files: Files, **_: Any) -> Any:
    """Draw the figures that pages refer to, and leave out the others."""
    pages = [file.page for file in files.documentation_pages() if file.page]
    mentions = (result_figures.FIGURE.findall(page.content or "") for page in pages)
    shown = {name for names in mentions for name in names}
    for name, figure in plot.figures().items():
        file = files.get_file_from_path(f"results/{name}.svg")
        if file is None or file.abs_src_path is None:
            raise DirectiveError(
                f"results/{name}.svg was not there when pages were read"
            )
        if name in shown:
            result_figures.draw(figure, Path(file.abs_src_path))
        else:
            files.remove(file)
    return env


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
