"""What was measured, as the files in `docs/results` say it.

- `::: result vla-goto` shows one: its figure, its table or sentence, its command and
  age; `::: results dqn-corridor n_step_dqn-corridor` lists some without figures.
- `::: summary vla` has a row or more for every result of a kind, and `::: details
  peers` all of their tables, one below the other.
- `::: reached by sac` shows all that was measured of an algorithm.
"""

import datetime
import json
from functools import cache
from typing import Any

from .directives import DOCS, Page, directive, table

FOLDER = DOCS / "results"
CONTROL = (
    "As a control, trained to see another algorithm beside it, in a world where this"
    " one lacks something or as one of the other's parts; nothing was asked of it:"
)


@cache
def measured() -> dict[str, dict[str, Any]]:
    """Name -> every result: first what was learned, then in the order of names."""
    paths = sorted(FOLDER.glob("*.json"))
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in paths}
    return dict(sorted(found.items(), key=lambda item: item[1]["kind"] != "learning"))


@directive(r"result ([\w-]+)")
def shown(page: Page, name: str) -> str:
    """One result."""
    result, parts = measured()[name], []
    if (FOLDER / f"{name}.svg").is_file():
        parts.append(f"![{result['alt']}]({page.to_docs}results/{name}.svg)")
    if "says" in result:
        parts.append(result["says"])
    if "table" in result:
        parts.append(table(**result["table"]))
    return "\n\n".join([*parts, source(page, name)])


@directive(r"results ((?:[\w-]+ ?)+)")
def several(page: Page, names: str) -> str:
    """Some results, each in a sentence."""
    rows = []
    for name in names.split():
        of = measured()[name]
        link = f"[{of['algorithm']}]({page.to_docs}algorithms/{of['algorithm']}.md)"
        rows.append(f"- {link}: {of['says']} {source(page, name)}")
    return "\n".join(rows)


@directive(r"reached by (\w+)")
def reached(page: Page, algorithm: str) -> str:
    """All that was measured of an algorithm; last, its runs as a control."""
    mine = {n: of for n, of in measured().items() if of.get("algorithm") == algorithm}
    controls = [name for name, of in mine.items() if of.get("criterion") == "none"]
    parts = [shown(page, name) for name in mine if name not in controls]
    if controls:
        rows = [f"- {mine[name]['says']} {source(page, name)}" for name in controls]
        parts += [CONTROL, "\n".join(rows)]
    return "\n\n".join(parts)


@directive(r"(summary|details) (\w+)")
def summary(_: Page, what: str, kind: str) -> str:
    """Rows of every result of a kind, and the commands that measured them."""
    found = [of for of in measured().values() if of["kind"] == kind]
    tables = [of["summary" if what == "summary" else "table"] for of in found]
    rows = [row for of in tables for row in of["rows"]]
    sides = [side for of in found for side in (of, of.get("reference", of))]
    days = sorted(side["date"][:10] for side in sides)
    commands = "\n".join(dict.fromkeys(side["command"] for side in sides))
    machines = " and ".join(dict.fromkeys(map(machine, sides)))
    when = f"Measured from {days[0]} to {days[-1]}, on {machines}"
    head = table(tables[0]["header"], rows)
    return f"{head}\n\n{when}:\n\n```bash\n{commands}\n```"


def source(page: Page, name: str) -> str:
    """Where all numbers are, the command, the machine, and how old they are."""
    of = measured()[name]
    date = datetime.datetime.fromisoformat(of["date"])
    days = (datetime.datetime.now(datetime.UTC) - date).days
    return (
        f"[Every number]({page.to_docs}results/{name}.json) is from `{of['command']}`,"
        f" on {machine(of)}, {days} day{'s' * (days != 1)} old"
        f" (revision {of['revision']})."
    )


def machine(result: dict[str, Any]) -> str:
    """What a result was measured on."""
    return f"{result['hardware']['cores']} cores of {result['hardware']['cpu']}"
