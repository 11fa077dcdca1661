"""The site's own logic."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from site_logic import rendered

from yieldrl.docs import hooks
from yieldrl.docs._site import DirectiveError, html_output, sources

ROOT = Path(__file__).parents[2]


def test_source_of_a_method_is_unindented_and_whole():
    text = sources.source("abstractions.py", "Trainer.training_done")
    assert text.startswith("@property\ndef training_done(self)")
    assert text in sources.source("abstractions.py", "Trainer").replace("\n    ", "\n")


def test_source_of_the_imports():
    text = sources.source("algorithms/ppo/trainer.py", "imports")
    assert text.startswith("from yieldrl.o")
    assert text.endswith("from .model import Model")


def test_source_of_a_constant():
    assert sources.source("foundations/logs.py", "Logs").startswith("Logs = ")


@pytest.mark.parametrize("symbol", ["Teacher", "Trainer.juggle", "Trainer.save.juggle"])
def test_source_that_is_not_there_is_an_error(symbol):
    with pytest.raises(DirectiveError, match=r"abstractions\.py has no"):
        sources.source("abstractions.py", symbol)


def test_pages_get_sources_with_the_indentation_of_the_page():
    page = (
        '    ```{.python}\n    --8<-- "abstractions.py#Trainer.training_done"\n    ```'
    )
    shown = rendered(page)
    assert "\n    def training_done(self) -> bool:\n" in shown
    assert "--8<--" not in shown


def test_a_star_is_everything_that_a_package_exports():
    from yieldrl import buffers

    shown = rendered("::: yieldrl.buffers.*").split()
    names = [word.rpartition(".")[2] for word in shown if word != ":::"]
    assert names == buffers.__all__


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        "<script async src=//cdn.example.org/x.js></script>",
        '<link rel="stylesheet" href="https://fonts.googleapis.com/css">',
        '<img alt="a badge" src="https://img.example.org/badge.svg">',
        '@import url("https://example.org/x.css");',
        "@font-face{src:url(https://example.org/x.woff2)}",
        'import x from "https://example.org/x"',
        'load("https://unpkg.com/mermaid@11")',
        "load('https://example.org/dist/x.min.mjs')",
    ],
)
def test_what_would_ask_another_host_is_found(text):
    assert html_output.external(text)


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://arxiv.org/abs/1707.06347">paper</a>',
        '<script src="../assets/math.js"></script>',
        '<link rel="canonical" href="https://example.org/ppo/">',
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        "@font-face{src:url(fonts/inter.woff2)}",
        '<video src="data:video/mp4;base64,AAAA"></video>',
    ],
)
def test_what_asks_nobody_passes(text):
    assert not html_output.external(text)


def test_scripts_of_material_that_we_do_not_know_are_an_error():
    known = 'a("https://unpkg.com/x");b("https://unpkg.com/mermaid@11/m.min.js")'
    assert not html_output.external(html_output.without_cdn(known))
    with pytest.raises(DirectiveError):
        html_output.without_cdn(known * 2)


def test_vendored_files_are_all_there():
    styles = ROOT / "docs" / "assets" / "katex" / "katex.min.css"
    fonts = re.findall(r"url\(([^)]+)\)", styles.read_text("utf-8"))
    assert fonts
    assert all((styles.parent / font).is_file() for font in fonts)


def test_doctests_in_docstrings_become_code():
    docstring = "Adds.\n\nExample:\n    >>> 1 + 1\n    2\n\nReturns:\n    A sum."
    assert html_output.with_fences(docstring) == (
        "Adds.\n\nExample:\n    ```pycon\n    >>> 1 + 1\n    2\n    ```\n\n"
        "Returns:\n    A sum."
    )


def test_lines_of_sources_have_numbers_and_no_links():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reference/ppo.md"))
    number = '<a href="#yieldrl.A--source--__codelineno-0-12"> 12</a>'
    line = '<a id="__codelineno-0-12" name="__codelineno-0-12"></a>'
    html = f"<summary>.cache/reference/yieldrl/cli/app.py</summary>{number}{line}"
    shown = hooks.on_page_content(html, page=page, files=None)
    assert shown == f"<summary>cli/app.py</summary> 12{line}"


def test_a_site_that_would_ask_another_host_is_refused(tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<script src="local.js"></script>')
    (tmp_path / "app.js.map").write_text("{}")
    html_output.finish(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    page.write_text('<script src="https://cdn.example.org/x.js"></script>')
    with pytest.raises(DirectiveError, match=r"index\.html: <script src"):
        html_output.finish(tmp_path)
