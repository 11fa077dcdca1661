"""`::: table family` on a page is a table of all algorithms: made, not typed."""

from __future__ import annotations

import re
from typing import Any

from yieldrl.cli import family

TABLE = re.compile(r"^::: table family$", re.MULTILINE)
ARXIV = re.compile(r"arXiv:(\d+\.\d+)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table where a page asks for it."""
    return TABLE.sub(lambda _: table(), markdown)


def table() -> str:
    """Every algorithm below its parent, with the size of the difference."""
    titles = family.descriptions()
    rows = ["| algorithm | lines | classes of its own | from |", "|---|---:|---|---|"]
    for depth, member in family.tree():
        step = "&nbsp;" * 4 * depth + ("└&nbsp;" if depth else "")
        title = ARXIV.sub(r"[\g<0>](https://arxiv.org/abs/\1)", titles[member.name])
        others = (
            f"; also from {', '.join(member.parents[1:])}" if member.parents[1:] else ""
        )
        rows.append(
            f"| {step}[`{member.name}`]({member.name}.md) | {member.lines} |"
            f" {', '.join(member.changed)} | {title}{others} |"
        )
    return "\n".join(rows)
