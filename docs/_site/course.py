"""Chapters, reading times, exercises, films and interactive figures of the course.

- `::: chapters` is the table of chapters.
- `::: reading time` is how long a page's prose takes, at 200 words a minute.
- `::: exercise ch09` is what `yieldrl check ch09` asks for, read off its `check.py`.
- `::: frames gae_lambda` is a figure of `docs/course/figures/`, with its title and its
  caption, in HTML, in the lines below: all of its frames are computed here, and
  `docs/assets/course/frames.js` shows the one that is chosen.
- `::: film taxi, A taxi in a grid.` is a film of the gallery; after the comma stands
  what is to be seen. `python -m benchmarks gallery` wrote how well it plays beside it.
"""

import html
import importlib
import json
import re
import textwrap
from math import prod
from typing import Any

from .directives import DOCS, Page, directive, filled, table
from .sources import FENCE

WORDS_A_MINUTE = 200


@directive("reading time")
def reading_time(page: Page) -> str:
    """How long the prose of a page takes to read, in words."""
    count = minutes(page.text)
    return f"*{count} minutes to read; code and exercises take as long as they take.*"


def minutes(text: str) -> int:
    """What the prose of a page takes to read; code and exercises take their own."""
    prose = re.sub(r"^:::.*(?:\n    .+)*$", "", FENCE.sub("", text), flags=re.MULTILINE)
    return max(1, round(len(prose.split()) / WORDS_A_MINUTE))


@directive("chapters")
def chapters(_: Page) -> str:
    """A row for each chapter, with its reading time."""
    rows = []
    for path in sorted((DOCS / "course").glob("[0-9][0-9]-*.md")):
        text = path.read_text("utf-8")
        number, title = text.partition("\n")[0].removeprefix("# ").split(". ", 1)
        asked = f"`yieldrl check ch{number:0>2}`"
        rows.append([number, f"[{title}]({path.name})", f"{minutes(text)} min", asked])
    return table(["", "chapter", "to read", "exercise"], rows)


@directive(r"exercise (ch\d\d)")
def exercise(_: Page, key: str) -> str:
    """The command that asks, and the properties that are asked for."""
    from yieldrl.exercises import chapters
    from yieldrl.exercises.checking import properties, statement

    folder = chapters()[key].name
    check = importlib.import_module(f"yieldrl.exercises.{folder}.check")
    said = [statement(holds) for holds in properties(check)]
    lines = [f"- {html.escape(text, quote=False)}." for text in said]
    return "\n".join(["```bash", f"yieldrl check {key}", "```", "", *lines])


@directive(r"film (\w[\w-]*), (.+)")
def film(page: Page, name: str, seen: str) -> str:
    """A film with its caption: what made it, how well it plays, how to repeat it."""
    path = f"assets/gallery/{name}"
    notes = json.loads((DOCS / f"{path}.json").read_text("utf-8"))
    address = path if page.path == "index.md" else f"../{path}"
    return filled("film.html", address=address, seen=seen, **notes)


@directive(r"frames (\w+)\n +(.+)((?:\n.+)+)")
def frames(_: Page, name: str, title: str, caption: str) -> str:
    """A figure that controls turn over; without a script it is its first frame.

    Its module has a function `figure` that returns a dictionary, made by `figure` of
    `docs/course/figures/drawing.py`: `parts` are pairs of a CSS selector and the
    attribute that a frame sets, `frames` has for each choice, the last control fastest,
    a value for each part, or one for each of its elements.
    """
    figure = load(name)["figure"]()
    sizes = [len(labels) for labels in figure["controls"].values()]
    at = sum(index * prod(sizes[i + 1 :]) for i, index in enumerate(figure["start"]))
    said = dict(zip(map(tuple, figure["parts"]), figure["frames"][at], strict=True))
    data = {key: figure[key] for key in ("parts", "frames")}
    return filled(
        "frames.html",
        name=name,
        title=title,
        caption=textwrap.dedent(caption).strip(),
        says=said.get((".says", "text"), ""),
        data=json.dumps(data, separators=(",", ":")),
        **figure,
    )


def load(name: str) -> dict[str, Any]:
    """The names of a module of figures."""
    return vars(importlib.import_module(f"yieldrl.docs.course.figures.{name}"))
