"""MkDocs' hooks; what directives and sources of pages stand for is in `docs/_site`.

- Notebooks are pages, though they lie outside of `docs/`.
- The reference is made from a copy of the package: the root of the repository is the
  package, and looking for modules in it would mean looking through `.venv`.
- The search leaves out words that every sentence has, and no script is asked of
  another host.
"""

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import griffe
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from setuptools import find_packages

from yieldrl.docs._site import render

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / ".cache" / "reference"
DOCTEST = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*", re.MULTILINE)
SPLIT = r".split(/\s+/g)"
WITHOUT_STOP_WORDS = SPLIT + (
    ".filter((word,_,words)=>lunr.stopWordFilter(word.toLowerCase())"
    "||!words.some(other=>lunr.stopWordFilter(other.toLowerCase())))"
)
"""A question's words without those of lunr's list, unless there are no others: the
search would find the "a" of "what is a policy" in the titles of Advantage and Actor."""


@event_priority(100)  # before mkdocstrings looks at its paths
def on_config(config: Any) -> Any:
    """Lay out the package where the reference is made from it."""
    shutil.rmtree(REFERENCE, ignore_errors=True)
    for room in ("", *find_packages(ROOT)):
        folder = REFERENCE / "yieldrl" / room.replace(".", "/")
        folder.mkdir(parents=True)
        for path in (ROOT / room.replace(".", "/")).glob("[!.]*.py*"):
            shutil.copyfile(path, folder / path.name)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the notebooks: each as a page, and as a file to download."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, path.name, abs_src_path=str(path)))
        text = notebook(path)
        files.append(File.generated(config, f"{path.stem}.md", content=text))
    return files


def notebook(path: Path) -> str:
    """The cells of a notebook and what they printed and drew, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        is_code = cell["cell_type"] == "code"
        parts.append(f"```python\n{text}\n```" if is_code else text)
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text")})
            if "image/png" in data:
                words = html.escape(cell["metadata"]["alt"])  # as `# %% alt="..."`
                png = "".join(data["image/png"]).strip()
                image = f'<img alt="{words}" src="data:image/png;base64,{png}">'
                parts.append(f'<p class="output">{image}</p>')
            elif "text/html" in data:
                shown = "".join(data["text/html"]).replace("\n\n", "\n")
                parts.append(f'<div class="output">{shown}</div>')
            else:
                shown = "".join(data["text/plain"]).strip("\n")
                parts.append(f"```{{.text .output}}\n{shown}\n```")
    link = f"[Download this notebook]({path.name}){{ download .download }}"
    title, *rest = "\n\n".join(parts).replace("](../docs/", "](").split("\n", 1)
    return "\n\n".join([title, link, *rest])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put in what a page's directives stand for, and the sources that it shows."""
    return render(page.file.src_uri, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Name a source's real file, and not that of the copy."""
    return html.replace(".cache/reference/yieldrl/", "")


def on_post_build(config: Any) -> None:
    """Change Material's scripts: none from other hosts, a search without stop words.

    The others are Mermaid, and a stand-in for browsers before 2020: never used here.
    """
    scripts = Path(config.site_dir) / "assets" / "javascripts"
    for path in [*scripts.glob("bundle.*.js"), *scripts.glob("workers/search.*.js")]:
        text = re.sub(r'"https://unpkg\.com/[^"]*"', '""', path.read_text("utf-8"))
        if path.parent.name == "workers":
            text = text.replace(SPLIT, WITHOUT_STOP_WORDS)
        path.write_text(text, encoding="utf-8")


class Doctests(griffe.Extension):
    """Turns `>>>` and what follows it, up to an empty line, into a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, unless griffe knows its section of examples by itself."""
        if obj.docstring is not None and "Examples:" not in obj.docstring.value:
            fenced = DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
            obj.docstring.value = fenced
