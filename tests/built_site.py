"""The site as `make docs` has built it, which `make browser` names to the tests."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

NAMED = os.environ.get("YIELDRL_SITE")
FOLDER = Path(NAMED).resolve() if NAMED else None
HOST = "http://site"  # of addresses that are resolved here, and asked of nobody
MISSING = "no built site is named by YIELDRL_SITE: run `make browser`"


@dataclass
class Page:
    """What links of a page say, and what links may name in it."""

    links: list[tuple[str, int]] = field(default_factory=list)  # and their lines
    anchors: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    LINKS = ("href", "src", "poster", "data", "xlink:href")

    def __init__(self):
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.page.anchors.add(value or "")
            elif name in self.LINKS and value is not None:
                self.page.links.append((value, self.getpos()[0]))
            elif name == "srcset" and value:
                parts = (part.split()[0] for part in value.split(","))
                self.page.links.extend((part, self.getpos()[0]) for part in parts)


@cache
def read(path):
    """The links and anchors of a file of HTML."""
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    return reader.page


def addresses(folder=FOLDER):
    """Every page's address below the site's root: "" is the home page."""
    if folder is None:
        return []
    found = (path.relative_to(folder).parent.as_posix() for path in _indexes(folder))
    return ["" if name == "." else f"{name}/" for name in found]


def holding(pattern, folder=FOLDER):
    """The addresses of the pages whose HTML has something in it."""
    if folder is None:
        return []
    pages = {name: folder / name / "index.html" for name in addresses(folder)}
    return [n for n, path in pages.items() if re.search(pattern, path.read_text())]


def dead(folder):
    """Links of the site into itself that lead nowhere, each with its page and line."""
    for path in sorted(folder.rglob("*.html")):
        place = path.relative_to(folder).as_posix()
        for link, line in read(path).links:
            reason = fault(folder, place, link)
            if reason:
                yield f"{place}, line {line}: {link}: {reason}"


def fault(folder, place, link):
    """Why a link of the page at `place` leads nowhere, or nothing."""
    address = urlsplit(urljoin(f"{HOST}/{place}", link))
    if f"{address.scheme}://{address.netloc}" != HOST:
        return ""
    path = folder / unquote(address.path).lstrip("/")
    if path.is_dir():
        path /= "index.html"
    if not path.is_file():
        return "no such file"
    is_page = path.suffix == ".html" and address.fragment
    if is_page and unquote(address.fragment) not in read(path).anchors:
        return "no such anchor"
    return ""


def _indexes(folder):
    return sorted(folder.rglob("index.html"))
