"""`::: film taxi` shows a film of the gallery: what made it and how well it plays.

Nothing of that is typed: it stands in a file beside the film, which the command wrote.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

DOCS = Path(__file__).parent
FOLDER = "assets/gallery"
FILM = re.compile(r"^( *)::: film (\w[\w-]*)(?:, (.+))?$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Put films where pages ask for them; after a comma stands what one sees."""
    here = page.file.url if page else ""
    return FILM.sub(
        lambda match: match[1] + film(match[2], match[3] or "", here), markdown
    )


def film(name: str, seen: str, here: str = "") -> str:
    """A film with its caption; on one line, so that it may stand in a list.

    Args:
        name: Of the files in `assets/gallery`.
        seen: What is to be seen, for who cannot see it.
        here: URL of the page.

    Raises:
        PluginError: If a file is missing, or nothing says what is to be seen.
    """
    files = {end: f"{FOLDER}/{name}.{end}" for end in ("mp4", "png", "json")}
    lost = [path for path in files.values() if not (DOCS / path).is_file()]
    if lost or not seen:
        raise PluginError(f"film {name} lacks {', '.join(lost) or 'what is seen'}")
    notes = json.loads((DOCS / files["json"]).read_text("utf-8"))
    mp4, png = (get_relative_url(files[end], here) for end in ("mp4", "png"))
    return (
        '<figure class="film">'
        f'<video src="{mp4}" poster="{png}" controls loop'
        f' muted playsinline preload="none" aria-label="{html.escape(seen)}"></video>'
        f"<figcaption>{said(notes)}</figcaption></figure>"
    )


def said(notes: dict[str, Any]) -> str:
    """Who plays where, how well, and the command that repeats it."""
    world = notes["env_id"].rpartition("/")[2]
    return (
        f"<strong>{notes['algorithm']}</strong> on {world},"
        f" {notes['sample_step']:,} steps: mean return {notes['episode_return']:g} of"
        f" {notes['episodes']} episodes, untrained {notes['untrained_return']:g}."
        f" <code>{html.escape(notes['command'])}</code>"
    )
