"""What the site needs besides its plugins: our own logic, all of it in this file.

- A fence may hold `--8<-- "abstractions.py#Trainer.evaluate"`: the source of that class
  or function, as it is today. No markers in the code, and no line numbers that drift.
- `::: yieldrl.buffers.*` is the reference of every name that the package exports.
- Notebooks are pages, though they lie outside of `docs/`.
- The reference is made from a copy of the package: the root of the repository is the
  package, and looking for modules in it would mean looking through `.venv`.
- Doctests in docstrings are shown as code.
- Nothing is fetched from another host: the build fails if a page would.
"""

from __future__ import annotations

import ast
import re
import shutil
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / ".cache" / "reference"

SYMBOL = re.compile(r'^( *)--8<-- "([\w/]+\.py)#([\w.]+)"$', re.MULTILINE)
EXPORTS = re.compile(r"^::: (yieldrl[\w.]*)\.\*$", re.MULTILINE)
DOCTEST = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)
LINE_LINK = re.compile(r'<a href="#[^"]*__codelineno-[\d-]+">( *\d+)</a>')
"""A link of a source's line to itself: too small to hit, and hundreds of tab stops."""
DOWNLOAD = (
    '<p class="download"><a href="{0}.ipynb" download>Download this notebook</a></p>'
)
EXTERNAL = re.compile(
    r"""<(?:script|img|iframe|video|audio|source|embed)\b[^>]*?\bsrc="?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel="?canonical)[^>]*?\bhref="?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//"""
    r"""|\burl\(\s*["']?(?:https?:)?//"""
    r"""|\b(?:import|from)\s*\(?\s*["'](?:https?:)?//"""
    r"""|["'`](?:https?:)?//[\w.-]+/[^"'`\s]*\.m?js\b"""
    r"""|["'`]https?://[\w.-]*(?:unpkg|jsdelivr|cdnjs|googleapis|gstatic)\."""
)


@event_priority(100)  # before mkdocstrings looks at its paths
def on_config(config: Any) -> Any:
    """Lay out the package where the reference is made from it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shutil.rmtree(REFERENCE, ignore_errors=True)
    for package in project["tool"]["setuptools"]["packages"]:
        folder = package.replace(".", "/")
        (REFERENCE / folder).mkdir(parents=True)
        for path in (ROOT / folder.removeprefix("yieldrl").lstrip("/")).glob("*.py"):
            shutil.copyfile(path, REFERENCE / folder / path.name)
    return config


@event_priority(100)  # before mkdocs-jupyter looks for notebooks
def on_files(files: Files, config: Any) -> Files:
    """Add notebooks."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        urls = config.use_directory_urls
        files.append(File(path.name, str(path.parent), config.site_dir, urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put sources and names of modules where pages ask for them."""
    return EXPORTS.sub(_identifiers, SYMBOL.sub(_indented_source, markdown))


def on_page_content(html: str, page: Any, files: Files, **_: Any) -> str:
    """Let a notebook look like every other page, and the reference name real files.

    mkdocs-jupyter brings half a megabyte of styles, and scripts from other hosts.
    """
    if not page.file.src_uri.endswith(".ipynb"):
        return LINE_LINK.sub(r"\1", html.replace(".cache/reference/yieldrl/", ""))

    def link(match: re.Match[str]) -> str:
        target = files.get_file_from_path(match[1])
        if target is None:
            raise PluginError(
                f"{page.file.src_uri} links to docs/{match[1]}: not there"
            )
        return f'href="{target.url_relative_to(page.file)}"'

    for unwanted in (
        r"<(style|script)\b.*?</\1>",
        r'<div class="zeroclipboard-container">.*?</clipboard-copy>\s*</div>',
        r'<div class="clipboard-copy-txt".*?</div>',
    ):
        html = re.sub(unwanted, "", html, flags=re.S)
    html = re.sub(r'href="\.\./docs/([\w/-]+\.md)"', link, html)
    # Material puts its copy button on code in pre.
    html = re.sub(r"<pre>(.*?)</pre>", r"<pre><code>\1</code></pre>", html, flags=re.S)
    return html.replace("</h1>", "</h1>" + DOWNLOAD.format(page.file.name), 1)


def on_post_build(config: Any) -> None:
    """Refuse a site that would ask another host for a script, a style or a font."""
    site = Path(config.site_dir)
    for bundle in site.glob("assets/javascripts/bundle.*.min.js"):
        bundle.write_text(without_cdn(bundle.read_text("utf-8")), encoding="utf-8")
    for sources in site.rglob("*.map"):
        sources.unlink()
    found = [
        f"{path.relative_to(site)}: {text}"
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css", ".js"}
        for text in external(path.read_text("utf-8"))
    ]
    if found:
        raise PluginError("the site would ask other hosts:\n" + "\n".join(found))


def source(path: str, symbol: str) -> str:
    """The source of a class, function or constant, unindented; or of all `imports`.

    Raises:
        PluginError: If the file has no such symbol.
    """
    text = (ROOT / path).read_text("utf-8")
    node: Any = ast.parse(text)
    if symbol == "imports":
        imports = [n for n in node.body if isinstance(n, ast.Import | ast.ImportFrom)]
        lines = text.splitlines()[imports[0].lineno - 1 : imports[-1].end_lineno]
        return "\n".join(lines)
    for name in symbol.split("."):
        named = [child for child in node.body if name in _names(child)]
        if not named:
            raise PluginError(f"{path} has no {symbol}: {name} is missing")
        node = named[-1]  # a property's setter comes after its getter
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def external(text: str) -> list[str]:
    """Places in HTML, CSS or JavaScript that would load something from elsewhere."""
    return [text[m.start() : m.end() + 60] for m in EXTERNAL.finditer(text)]


def without_cdn(bundle: str) -> str:
    """Material's script without what it would load from elsewhere, which we never use.

    That is Mermaid for diagrams, and a stand-in for what browsers before 2020 lacked.

    Raises:
        PluginError: If the script is not as we know it.
    """
    local, count = re.subn(r'"https://unpkg\.com/[^"]*"', '""', bundle)
    if count != 2:
        raise PluginError(f"{count} scripts from elsewhere in Material's, expected 2")
    return local


class Doctests(griffe.Extension):
    """Turns `>>>` and what follows it, up to an empty line, into a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, unless griffe knows its section of examples by itself."""
        if obj.docstring is not None and "Examples:" not in obj.docstring.value:
            obj.docstring.value = with_fences(obj.docstring.value)


def with_fences(docstring: str) -> str:
    """The docstring with fences around its doctests."""
    return DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", docstring)


def _indented_source(match: re.Match[str]) -> str:
    indent, path, symbol = match.groups()
    return textwrap.indent(source(path, symbol), indent)


def _identifiers(match: re.Match[str]) -> str:
    package = match[1]
    path = ROOT.joinpath(*package.split(".")[1:], "__init__.py")
    exported = ast.literal_eval(source(str(path), "__all__").partition("=")[2].strip())
    return "\n\n".join(f"::: {package}.{name}" for name in exported)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [target.id for target in targets if isinstance(target, ast.Name)]
