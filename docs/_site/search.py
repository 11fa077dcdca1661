"""Material's scripts: a search without stop words, and nothing from another host."""

import re
from pathlib import Path
from typing import Any

SPLIT = r".split(/\s+/g)"
SAYS = "(says=>says(word)||!all.some(says))(it=>lunr.stopWordFilter(it.toLowerCase()))"
EXACT = r".flatMap(it=>/^\w[\w-]*$/.test(it)?[it+'^9',it]:[it])"  # first, then longer
NEVER = r'<(?:pre|svg|form)\b|<\w+ class="(?:arithmatex|filename)"'
MEMBERS = r"|<h[3-6]|<table|(?<=</p>)\s*<p"
NUMBERS = "results.md", "agents.md", "where-the-time-goes.md", "worlds.md", "gpu.md"


def without(path: str, html: str) -> str:
    """A page whose code, formulas, answers, members and numbers no search looks at."""
    name = path.removeprefix("algorithms/").removesuffix(".md")
    own = r"\S+\.py: " if name == "ppo" else f"algorithms/{name}/"
    kinds = rf'{NEVER}|<details(?! class="abstract">\s*<summary>{own})'
    kinds += MEMBERS if path.startswith(("reference/", "algorithms/family")) else ""
    kinds += "|<table" if path in NUMBERS else ""
    return re.sub(kinds, r'\g<0> data-search-exclude="y"', html)


def on_post_build(config: Any) -> None:
    """Take tags from the index, stop words from questions, addresses of other hosts."""
    index = Path(config.site_dir, "search", "search_index.json")
    index.write_text(re.sub(r"</?\w+>", "", index.read_text("utf-8")), "utf-8")
    for path in Path(config.site_dir, "assets", "javascripts").rglob("*.js"):
        text = re.sub(r'"https://unpkg\.com/[^"]*"', '""', path.read_text("utf-8"))
        text = text.replace(SPLIT, f"{SPLIT}.filter((word,_,all)=>{SAYS}){EXACT}")
        path.write_text(text, encoding="utf-8")
