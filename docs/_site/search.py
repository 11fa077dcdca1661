"""Material's search, without the words that every sentence has."""

from pathlib import Path
from typing import Any

SPLIT = r".split(/\s+/g)"
CHOSEN = ".filter((word,_,all)=>says(word)||!all.some(says))"
SAYS = "const says=word=>lunr.stopWordFilter(word.toLowerCase());"


def on_post_build(config: Any) -> None:
    """Take words of lunr's list from a question, as it finds "a" in every title."""
    for path in Path(config.site_dir).glob("assets/javascripts/workers/search.*.js"):
        text = path.read_text("utf-8").replace(SPLIT, SPLIT + CHOSEN)
        path.write_text(SAYS + text, encoding="utf-8")
