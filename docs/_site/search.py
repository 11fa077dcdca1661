"""Material's scripts: a search without stop words, and nothing from another host."""

import re
from pathlib import Path
from typing import Any

SPLIT = r".split(/\s+/g)"
CHOSEN = ".filter((word,_,all)=>says(word)||!all.some(says))"
SAYS = "const says=word=>lunr.stopWordFilter(word.toLowerCase());"


def on_post_build(config: Any) -> None:
    """Take words of lunr's list from a question, as it finds "a" in every title; and
    the addresses of Mermaid and of a stand-in for old browsers, which no page uses."""
    scripts = Path(config.site_dir) / "assets" / "javascripts"
    for path in scripts.glob("workers/search.*.js"):
        text = path.read_text("utf-8").replace(SPLIT, SPLIT + CHOSEN)
        path.write_text(SAYS + text, encoding="utf-8")
    for path in scripts.glob("bundle.*.js"):
        text = re.sub(r'"https://unpkg\.com/[^"]*"', '""', path.read_text("utf-8"))
        path.write_text(text, encoding="utf-8")
