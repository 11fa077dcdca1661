"""What is changed in HTML, scripts and docstrings that generators of sites made.

- A notebook looks like every other page, and its pictures have descriptions: the words
  of their cell, which begins with `# %% alt="..."` in the notebook's source.
- The reference names real files, and doctests in docstrings are shown as code.
- The search leaves out words that every sentence has.
- Nothing is loaded from another host.

What is not as it should be raises `DirectiveError`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .directives import DirectiveError

DOCTEST = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)
LINE_LINK = re.compile(r'<a href="#[^"]*__codelineno-[\d-]+">( *\d+)</a>')
"""A link of a source's line to itself: too small to hit, and hundreds of tab stops."""
DOWNLOAD = (
    '<p class="download"><a href="{0}.ipynb" download>Download this notebook</a></p>'
)
UNDESCRIBED = "No description has been provided for this image"
"""What nbconvert writes where an output has no description of its own."""
UNWANTED = re.compile(
    r"<(style|script)\b.*?</\1>"
    r'|<div class="zeroclipboard-container">.*?</clipboard-copy>\s*</div>'
    r'|<div class="clipboard-copy-txt".*?</div>',
    re.DOTALL,
)
"""What mkdocs-jupyter adds: half a megabyte of styles, scripts from other hosts."""
EXTERNAL = re.compile(
    r"""<(?:script|img|iframe|video|audio|source|embed)\b[^>]*?\bsrc="?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel="?canonical)[^>]*?\bhref="?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//"""
    r"""|\burl\(\s*["']?(?:https?:)?//"""
    r"""|\b(?:import|from)\s*\(?\s*["'](?:https?:)?//"""
    r"""|["'`](?:https?:)?//[\w.-]+/[^"'`\s]*\.m?js\b"""
    r"""|["'`]https?://[\w.-]*(?:unpkg|jsdelivr|cdnjs|googleapis|gstatic)\."""
)
SPLIT = r".split(/\s+/g)"
WITHOUT_STOP_WORDS = SPLIT + (
    ".filter((word,_,words)=>lunr.stopWordFilter(word.toLowerCase())"
    "||!words.some(other=>lunr.stopWordFilter(other.toLowerCase())))"
)
"""The same, and then without the words of lunr's list, unless there are no others."""


def reference(page: str) -> str:
    """A page of the reference with the real names of files, and lines without links."""
    return LINE_LINK.sub(r"\1", page.replace(".cache/reference/yieldrl/", ""))


def notebook(
    page: str, source: dict[str, Any], name: str, url_of: Callable[[str], str]
) -> str:
    """The page of a notebook.

    Args:
        page: Its HTML.
        source: The notebook.
        name: Of its file, without the ending.
        url_of: Gives the URL of a page of `docs/`.
    """
    page = UNWANTED.sub("", page)
    page = re.sub(
        r'href="\.\./docs/([\w/-]+\.md)"', lambda m: f'href="{url_of(m[1])}"', page
    )
    # Material puts its copy button on code in pre.
    page = re.sub(r"<pre>(.*?)</pre>", r"<pre><code>\1</code></pre>", page, flags=re.S)
    page = page.replace("</h1>", "</h1>" + DOWNLOAD.format(name), 1)
    return described(page, source)


def described(page: str, source: dict[str, Any]) -> str:
    """A notebook's page with the description of each picture's cell, in order."""
    for cell in source["cells"]:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        for _ in (data for data in shown if "image/png" in data):
            if "alt" not in cell["metadata"]:
                first = "".join(cell["source"]).partition("\n")[0]
                raise DirectiveError(
                    f'a picture has no words: # %% alt="..." for {first}'
                )
            page = page.replace(UNDESCRIBED, html.escape(cell["metadata"]["alt"]), 1)
    if UNDESCRIBED in page:
        raise DirectiveError("a picture of a notebook has no words, nor a cell")
    return page


def finish(site: Path) -> None:
    """Change the scripts of a built site, and refuse what other hosts would serve."""
    scripts = {
        "bundle.*.min.js": without_cdn,
        "workers/search.*.js": without_stop_words,
    }
    for pattern, change in scripts.items():
        for path in site.glob(f"assets/javascripts/{pattern}"):
            path.write_text(change(path.read_text("utf-8")), encoding="utf-8")
    for sources in site.rglob("*.map"):
        sources.unlink()
    found = [
        f"{path.relative_to(site)}: {text}"
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css", ".js"}
        for text in external(path.read_text("utf-8"))
    ]
    if found:
        raise DirectiveError("the site would ask other hosts:\n" + "\n".join(found))


def external(text: str) -> list[str]:
    """Places in HTML, CSS or JavaScript that would load something from elsewhere."""
    return [text[m.start() : m.end() + 60] for m in EXTERNAL.finditer(text)]


def without_cdn(script: str) -> str:
    """Material's script without what it would load from elsewhere, which we never use.

    That is Mermaid for diagrams, and a stand-in for what browsers before 2020 lacked.
    """
    local, count = re.subn(r'"https://unpkg\.com/[^"]*"', '""', script)
    if count != 2:
        raise DirectiveError(
            f"{count} scripts from elsewhere in Material's, expected 2"
        )
    return local


def without_stop_words(script: str) -> str:
    """Material's script of the search, which leaves stop words out of a question.

    It looks for every word of a question as the beginning of one: in "what is a policy"
    it finds "a" in the titles of Advantage and Actor, which then come first.
    """
    count = script.count(SPLIT)
    if count != 1:
        raise DirectiveError(
            f"{count} places split questions in Material's, expected 1"
        )
    return script.replace(SPLIT, WITHOUT_STOP_WORDS)


def with_fences(docstring: str) -> str:
    """The docstring with fences around its doctests, up to an empty line."""
    return DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", docstring)
