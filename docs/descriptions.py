"""Pictures of notebooks say in words what they show.

The words are those of their cell: `# %% alt="..."` begins it in the notebook's source.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

WITHOUT = "No description has been provided for this image"
"""What nbconvert writes where an output has no words of its own."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Describe the pictures of a notebook."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    notebook = json.loads(Path(page.file.abs_src_path).read_text("utf-8"))
    return described(html, notebook)


def described(page: str, notebook: dict[str, Any]) -> str:
    """A page with the words of each picture's cell, in order.

    Raises:
        PluginError: If a picture has none.
    """
    for cell in notebook["cells"]:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        for _ in (data for data in shown if "image/png" in data):
            if "alt" not in cell["metadata"]:
                first = "".join(cell["source"]).partition("\n")[0]
                raise PluginError(f'a picture has no words: # %% alt="..." for {first}')
            words = html.escape(cell["metadata"]["alt"])
            page = page.replace(WITHOUT, words, 1)
    if WITHOUT in page:
        raise PluginError("a picture of a notebook has no words, nor a cell")
    return page
