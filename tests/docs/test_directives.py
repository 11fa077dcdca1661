"""Pages become plain Markdown, without a generator of sites."""

from __future__ import annotations

import re

import pytest
from site_logic import DOCS, rendered

from yieldrl.docs._site import Page, __main__, directives, result_figures

PAGES = [path for path in DOCS.rglob("*.md") if path.name != "authoring.md"]
FRAMES = re.compile(r"^::: frames \w+$", re.MULTILINE)  # slow, and tested elsewhere


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_asks_for_nothing_that_is_not_there(page):
    text = rendered(
        FRAMES.sub("", page.read_text("utf-8")), page.relative_to(DOCS).as_posix()
    )
    asked = re.findall(r"^ *::: (?!yieldrl\.)(.+)$", text, re.MULTILINE)
    assert asked == []  # what is left is for the reference
    assert not re.search(r'^ *--8<-- ("[^"]*#|without|\()', text, re.MULTILINE)


@pytest.fixture
def own(monkeypatch):
    """A registry for a test alone."""
    monkeypatch.setattr(directives, "_registered", {})


@pytest.mark.usefixtures("own")
def test_a_directive_may_return_others_and_keeps_its_indentation():
    @directives.directive(r"twice (\w+)(?: (\w+))?")
    def twice(word: str, other: str) -> str:
        return f"{word}{other}\n\n::: where"

    @directives.directive("where")
    def where(page: Page) -> str:
        return page.path

    shown = rendered("    ::: twice a b\n::: twice a\n::: thrice a\n", "course/x.md")
    assert shown == "    ab\n\n    course/x.md\na\n\ncourse/x.md\n::: thrice a\n"


@pytest.mark.parametrize(
    ("path", "to_docs", "to_site"),
    [
        ("index.md", "", ""),
        ("faq.md", "", "../"),
        ("course/index.md", "../", "../"),
        ("course/10-ppo.md", "../", "../../"),
    ],
)
def test_a_page_knows_the_way_back(path, to_docs, to_site):
    page = Page(path, "")
    assert (page.to_docs, page.to_site) == (to_docs, to_site)


def test_a_folder_of_plain_pages_is_written(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    (docs / "course").mkdir(parents=True)
    (docs / "hooks.py").write_text("")
    (docs / "course" / "x.md").write_text("::: measured corridor\n")
    monkeypatch.setattr(__main__, "DOCS", docs)
    monkeypatch.setattr(result_figures, "check_results", lambda: None)
    __main__.write(tmp_path / "out")
    written = {
        str(path.relative_to(tmp_path / "out"))
        for path in (tmp_path / "out").rglob("*")
        if path.suffix in {".md", ".py", ".svg", ".ipynb"}
    }
    assert {"course/x.md", "results/corridor.svg", "quickstart.ipynb"} <= written
    assert "hooks.py" not in written
    assert "(../results/corridor.svg)" in (tmp_path / "out/course/x.md").read_text()
