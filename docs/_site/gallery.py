"""`::: film taxi, A taxi in a grid.` shows a film of the gallery with its caption.

After the comma stands what is to be seen. What made the film and how well it plays is
read from the file beside it, which `python -m benchmarks gallery` wrote.
"""

from __future__ import annotations

import html
import json
from typing import Any

from .directives import DOCS, DirectiveError, Page, directive

FOLDER = "assets/gallery"


@directive(r"film (\w[\w-]*)(?:, (.+))?")
def film(name: str, seen: str, page: Page) -> str:
    """A film with its caption; on one line, so that it may stand in a list.

    Args:
        name: Of the files in `assets/gallery`.
        seen: What is to be seen, for those who cannot see it.
        page: The page that shows it.
    """
    files = {end: f"{FOLDER}/{name}.{end}" for end in ("mp4", "png", "json")}
    lost = [path for path in files.values() if not (DOCS / path).is_file()]
    if lost or not seen:
        raise DirectiveError(f"film {name} lacks {', '.join(lost) or 'what is seen'}")
    notes = json.loads((DOCS / files["json"]).read_text("utf-8"))
    mp4, png = (page.to_site + files[end] for end in ("mp4", "png"))
    return (
        '<figure class="film">'
        f'<video src="{mp4}" poster="{png}" controls loop'
        f' muted playsinline preload="none" aria-label="{html.escape(seen)}"></video>'
        f"<figcaption>{said(notes)}</figcaption></figure>"
    )


def said(notes: dict[str, Any]) -> str:
    """The algorithm, its world and return, and the command that repeats the film."""
    world = notes["env_id"].rpartition("/")[2]
    return (
        f"<strong>{notes['algorithm']}</strong> on {world},"
        f" {notes['sample_step']:,} steps: mean return {notes['episode_return']:g} of"
        f" {notes['episodes']} episodes, untrained {notes['untrained_return']:g}."
        f" <code>{html.escape(notes['command'])}</code>"
    )
