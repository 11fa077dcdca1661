"""What was measured, as the files in `docs/results` say it."""

import json
from functools import cache
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from .markdown import DOCS, table

FOLDER = DOCS / "results"
CONTROL = "As a control beside another algorithm, or where this one lacks something:"


@cache
def measured() -> dict[str, dict[str, Any]]:
    """Name -> every result, in the order of names."""
    paths = sorted(FOLDER.glob("*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


@pass_context
def result(context: Context, name: str) -> str:
    """One result: its figure, its sentence or table, its command and age."""
    of, parts = measured()[name], []
    if (FOLDER / f"{name}.svg").is_file():
        parts.append(f"![{of['alt']}]({context['to_docs']}results/{name}.svg)")
    parts += [_says(of)] if "says" in of else []
    parts += [table(**of["table"])] if "table" in of else []
    return "\n\n".join([*parts, _source(context, name)])


@pass_context
def said(context: Context, name: str) -> str:
    """One result in a sentence, with its command and age."""
    return f"{_says(measured()[name])} {_source(context, name)}"


@pass_context
def reached_by(context: Context, algorithm: str) -> str:
    """All that was measured of an algorithm; last, its runs as a control."""
    mine = {n: of for n, of in measured().items() if of.get("algorithm") == algorithm}
    controls = [name for name, of in mine.items() if of.get("criterion") == "none"]
    parts = [result(context, name) for name in mine if name not in controls]
    if controls:
        rows = "\n".join(f"- {said(context, name)}" for name in controls)
        parts += [CONTROL, rows]
    return "\n\n".join(parts)


def summary(kind: str, part: str = "summary") -> str:
    """Rows of every result of a kind, and the commands that measured them."""
    found = [of for of in measured().values() if of["kind"] == kind]
    rows = [row for of in found for row in of[part]["rows"]]
    sides = [side for of in found for side in (of, of.get("reference", of))]
    days = sorted(side["date"][:10] for side in sides)
    commands = "\n".join(dict.fromkeys(side["command"] for side in sides))
    machines = " and ".join(dict.fromkeys(map(_machine, sides)))
    when = f"Measured from {days[0]} to {days[-1]}, on {machines}:"
    head = table(found[0][part]["header"], rows)
    return f"{head}\n\n{when}\n\n```bash\n{commands}\n```"


def _says(result: dict[str, Any]) -> str:
    """Its sentence, of which a search looks at the world and at no numbers."""
    world, steps, numbers = result["says"].partition(" steps: ")
    hidden = f'<span data-search-exclude="y">{numbers}</span>' if steps else ""
    return f"{world}{steps}{hidden}"


def _source(context: Context, name: str) -> str:
    """Where all numbers are, the command, the machine, and the day."""
    of, folder = measured()[name], f"{context['to_docs']}results"
    return (
        f'<span data-search-exclude="y">[Every number]({folder}/{name}.json) is from'
        f" `{of['command']}`, on {_machine(of)}, {of['date'][:10]}"
        f" (revision {of['revision']}).</span>"
    )


def _machine(result: dict[str, Any]) -> str:
    return f"{result['hardware']['cores']} cores of {result['hardware']['cpu']}"
