"""All links of the built site lead somewhere, those in raw HTML too."""

import re

import built_site
import pytest

LOADED = re.compile(
    r"""<(?:script|img|iframe|video|source)\b[^>]*?\bsrc="?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel="?canonical)[^>]*?\bhref="?(?:https?:)?//"""
    r"""|(?:@import|\burl\()\s*["']?(?:https?:)?//|["'`]https?://[\w.-]*unpkg\."""
)
"""What a page, a style or a script would load from another host."""


@pytest.mark.slow
def test_nothing_is_loaded_from_another_host(folder):
    files = [p for p in folder.rglob("*") if p.suffix in {".html", ".css", ".js"}]
    assert [p for p in files if LOADED.search(p.read_text("utf-8"))] == []


@pytest.mark.slow
def test_every_link_into_the_site_leads_somewhere(folder):
    assert len(built_site.addresses()) > 50
    assert list(built_site.dead(folder)) == []


def test_dead_links_are_found(tmp_path):
    there = '<h1 id="a b">t</h1><a name="old"></a><a href="#a%20b">up</a>'
    here = [
        '<a href="there/#a%20b">fine</a>',
        '<a href="there/index.html#old">fine</a>',
        '<a href="https://example.org/none">not ours</a>',
        '<a href="mailto:a@example.org">nor this</a>',
        '<a href="there/#gone">no such anchor</a>',
        '<a href="gone/">no such file</a>',
        '<img alt="x" src="gone.png">',
        '<svg><use xlink:href="#gone"/></svg>',
    ]
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "index.html").write_text(there)
    (tmp_path / "index.html").write_text("\n".join(here))
    assert list(built_site.dead(tmp_path)) == [
        "index.html, line 5: there/#gone: no such anchor",
        "index.html, line 6: gone/: no such file",
        "index.html, line 7: gone.png: no such file",
        "index.html, line 8: #gone: no such anchor",
    ]
    assert built_site.addresses(tmp_path) == ["", "there/"]
    assert built_site.holding("a b", tmp_path) == ["there/"]
