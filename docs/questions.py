"""The search understands questions: words that every sentence has do not count.

Material's search looks for every word of a question as the beginning of one: in "what
is a policy" it finds "a" in the titles of Advantage and Actor, which then come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

SPLIT = r".split(/\s+/g)"
WITHOUT = SPLIT + (
    ".filter((word,_,words)=>lunr.stopWordFilter(word.toLowerCase())"
    "||!words.some(other=>lunr.stopWordFilter(other.toLowerCase())))"
)
"""The same, and then without the words of lunr's list, unless there are no others."""


def on_post_build(config: Any) -> None:
    """Let the search leave out such words, in the script that answers."""
    for script in Path(config.site_dir).glob("assets/javascripts/workers/search.*.js"):
        script.write_text(understanding(script.read_text("utf-8")), encoding="utf-8")


def understanding(script: str) -> str:
    """Material's script of the search, which splits a question into all of its words.

    Raises:
        PluginError: If the script is not as we know it.
    """
    if script.count(SPLIT) != 1:
        count = script.count(SPLIT)
        raise PluginError(f"{count} places split questions in Material's, expected 1")
    return script.replace(SPLIT, WITHOUT)
