"""MkDocs' hooks: pages call functions, notebooks are pages, and a better search."""

import shutil
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority

from yieldrl.docs._site import render
from yieldrl.docs._site.notebooks import on_files
from yieldrl.docs._site.search import on_post_build, without

__all__ = ["on_files", "on_post_build"]  # and the functions below
ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / ".cache" / "reference" / "yieldrl"
HIDDEN = (".*", "site", "build", "runs", "docs", "tests", "benchmarks", "*.egg-info")


@event_priority(100)  # before mkdocstrings looks at its paths
def on_config(config: Any) -> Any:
    """Copy the package for mkdocstrings, as its real root has `.venv` in it, too."""
    shutil.rmtree(REFERENCE, ignore_errors=True)
    shutil.copytree(ROOT, REFERENCE, ignore=shutil.ignore_patterns(*HIDDEN))
    return config


def on_nav(nav: Any, files: Any, **_: Any) -> None:
    """A page that is in no menu belongs to the section of its folder's index."""
    for file in files.documentation_pages():
        index = files.src_uris.get(f"{file.src_uri.partition('/')[0]}/index.md")
        if file.page.parent is None and index:
            file.page.parent = index.page.parent


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put in what a page's functions return, and the sources that it shows."""
    return render(page.file.src_uri, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Name a source's real file, not that of the copy, and what no search looks at."""
    return without(page.file.src_uri, html.replace(".cache/reference/yieldrl/", ""))
