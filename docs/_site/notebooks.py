"""Notebooks as pages: their cells, and what they printed and drew."""

import html
import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from yieldrl.cli import catalog

from . import algorithms
from .markdown import ROOT, filled


def on_files(files: Files, config: Any) -> Files:
    """Add notebooks, each as a page and a file, and the references of algorithms."""
    for one in catalog.members():
        text = filled("reference.html", member=one, at=algorithms.page(one))
        files.append(File.generated(config, f"reference/{one.name}.md", content=text))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, path.name, abs_src_path=str(path)))
        files.append(File.generated(config, f"{path.stem}.md", content=page(path)))
    return files


def page(path: Path) -> str:
    """A notebook as Markdown, with a link below its title to download it."""
    parts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        parts += [_output(of, cell["metadata"]) for of in cell.get("outputs", [])]
    link = f"[Download this notebook]({path.name}){{ download .download }}"
    title, rest = "\n\n".join(parts).replace("](../docs/", "](").split("\n", 1)
    return f"{title}\n\n{link}\n\n{rest}"


def _output(output: dict[str, Any], metadata: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text")})
    if "image/png" in data:
        words = html.escape(metadata["alt"])  # a cell says `alt` in its metadata
        png = "".join(data["image/png"]).strip()
        image = f'<img alt="{words}" src="data:image/png;base64,{png}">'
        return f'<p class="output">{image}</p>'
    if "text/html" in data:
        shown = "".join(data["text/html"]).replace("\n\n", "\n")
        return f'<div class="output">{shown}</div>'
    shown = "".join(data["text/plain"]).strip("\n")
    return f"```{{.text .output}}\n{shown}\n```"
