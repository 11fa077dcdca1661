"""Chapters, reading times, exercises, films and interactive figures of the course."""

import html
import importlib
import json
import re
from collections.abc import Callable
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from .markdown import DOCS, filled, table
from .sources import FENCE

CALL = re.compile(r"{%.*?endcall %}|{{.*?}}", re.DOTALL)


@pass_context
def reading_time(context: Context) -> str:
    """How long the prose of a page takes to read, in words."""
    count = minutes(context["source"])
    return f"*{count} minutes to read; code and exercises take as long as they take.*"


def minutes(text: str) -> int:
    """How long prose takes at 200 words a minute; code takes its own time."""
    return max(1, round(len(CALL.sub("", FENCE.sub("", text)).split()) / 200))


def chapters() -> str:
    """A row for each chapter, with its reading time."""
    rows = []
    for path in sorted((DOCS / "course").glob("[0-9][0-9]-*.md")):
        text = path.read_text("utf-8")
        number, title = text.partition("\n")[0].removeprefix("# ").split(". ", 1)
        asked = f"`yieldrl check ch{number:0>2}`"
        rows.append([number, f"[{title}]({path.name})", f"{minutes(text)} min", asked])
    return table(["", "chapter", "to read", "exercise"], rows)


def exercise(key: str) -> str:
    """What `yieldrl check ch09` asks for, read off its `check.py`."""
    from yieldrl.exercises import chapters

    folder = chapters()[key].name
    check = importlib.import_module(f"yieldrl.exercises.{folder}.check")
    properties = check.CHAPTER.properties
    lines = [f"- {html.escape(says, quote=False)}." for says in properties]
    return "\n".join(["```bash", f"yieldrl check {key}", "```", "", *lines])


@pass_context
def film(context: Context, name: str, seen: str) -> str:
    """A film of the gallery with what made it, how well it plays, how to repeat it."""
    path = f"assets/gallery/{name}"
    notes = json.loads((DOCS / f"{path}.json").read_text("utf-8"))
    address = "" if context["path"] == "index.md" else "../"
    return filled("film.html", address=address + path, seen=seen, **notes)


def frames(name: str, title: str, caller: Callable[[], str]) -> str:
    """A figure that controls turn over; without a script it is its first frame."""
    figure = load(name)["figure"]()
    data = {key: figure[key] for key in ("parts", "frames")}
    return filled(
        "frames.html",
        name=name,
        title=title,
        caption=caller().strip(),
        data=json.dumps(data, separators=(",", ":")),
        **figure,
    )


def load(name: str) -> dict[str, Any]:
    """The names of a module of figures."""
    return vars(importlib.import_module(f"yieldrl.docs.course.figures.{name}"))
