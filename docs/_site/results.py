"""What was measured, as the files in `docs/results` say it.

- `::: result vla-goto` shows one: its figure, its table or sentence, its command and
  age. `::: result corridor` shows algorithms on the same axes (`figures` in
  `benchmarks/tasks.yaml`) and what each of them reached.
- `::: summary vla` has a row or more for every result of a kind.
- `::: details peers` has all tables of a kind, one below the other.
- `::: reached by sac` shows all that was measured of an algorithm.
"""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

from yieldrl.benchmarks.learning import is_control
from yieldrl.benchmarks.results import FOLDER, load, table
from yieldrl.benchmarks.tasks import FIGURES

from .directives import DirectiveError, Page, directive

Result = dict[str, Any]
NOTHING = "This was not measured yet."
CONTROLS = (
    "### As a control\n\nTrained to see another algorithm beside it, in a world where"
    " this one lacks something or as one of the other's parts. Nothing was asked of it."
)


@cache
def measured() -> dict[str, Result]:
    """Name -> every result, in the order of names."""
    return {path.stem: load(path) for path in sorted(FOLDER.glob("*.json"))}


def of_kind(kind: str) -> dict[str, Result]:
    """The results of one command, in the order of names."""
    return {name: of for name, of in measured().items() if of["kind"] == kind}


@directive(r"result ([\w-]+)")
def shown(name: str, page: Page) -> str:
    """One result, or algorithms on the same axes."""
    if name in FIGURES:
        found = [(task, measured()[task]) for task in FIGURES[name]]
        rows = [
            f"- {_page_of(of['algorithm'], page)}: {of['says']} {source(task, page)}"
            for task, of in found
        ]
        return f"{_axes(name, page)}\n\n" + "\n".join(rows)
    if name not in measured():
        raise DirectiveError(f"docs/results has no {name}.json")
    result = measured()[name]
    parts = [figure(name, result.get("alt", ""), page)]
    parts.append(result.get("says", ""))
    if "table" in result:
        parts.append(table(result["table"]["header"], result["table"]["rows"]))
    return "\n\n".join([*filter(None, parts), source(name, page)])


@directive(r"summary (\w+)")
def summary(kind: str) -> str:
    """Rows of every result of a kind, and the commands that measure them."""
    found = of_kind(kind)
    rows = [row for of in found.values() for row in of["summary"]["rows"]]
    if not rows:
        raise DirectiveError(f"docs/results has no result of {kind}")
    header = next(iter(found.values()))["summary"]["header"]
    return "\n\n".join([table(header, rows), _commands(found)])


@directive(r"details (\w+)")
def details(kind: str) -> str:
    """The tables of every result of a kind in one, and their commands."""
    found = of_kind(kind)
    rows = [row for of in found.values() for row in of["table"]["rows"]]
    header = next(iter(found.values()))["table"]["header"]
    return "\n\n".join([table(header, rows), _commands(found)])


@directive(r"reached by (\w+)")
def reached(algorithm: str, page: Page) -> str:
    """All that was measured of an algorithm; last, its runs as a control."""
    learned = of_kind("learning")
    known = {**learned, **measured()}  # what was learned comes first
    mine = {n: of for n, of in known.items() if of.get("algorithm") == algorithm}
    controls = [name for name, of in mine.items() if is_control(of)]
    parts = [shown(name, page) for name in mine if name not in controls]
    for name, tasks in FIGURES.items():
        others = [measured()[task]["algorithm"] for task in tasks if task not in mine]
        if set(tasks) & (mine.keys() - {*controls}):
            linked = ", ".join(_page_of(other, page) for other in others)
            parts.append(f"{_axes(name, page)}\n\nOn the same axes with {linked}.")
    if controls:
        parts += [CONTROLS, *(_control(name, page) for name in controls)]
    return "\n\n".join(parts) or NOTHING


def figure(name: str, says: str, page: Page) -> str:
    """The figure of a result, with words for those who cannot see it."""
    if not (FOLDER / f"{name}.svg").is_file():
        return ""
    return f"![{says}]({page.to_docs}results/{name}.svg)"


def source(name: str, page: Page) -> str:
    """Where all numbers are, the command, the machine, and how old they are."""
    result = measured()[name]
    return (
        f"[Every number]({page.to_docs}results/{name}.json) is from"
        f" `{result['command']}`, on {_machine(result)}, {age(result)}."
    )


def age(result: Result) -> str:
    """When it was measured, and at which revision."""
    date = datetime.datetime.fromisoformat(result["date"])
    days = (datetime.datetime.now(datetime.UTC) - date).days
    old = f"{days} day{'s' * (days != 1)} old"
    return f"{old} (revision {result['revision']})"


def _machine(result: Result) -> str:
    return f"{result['hardware']['cores']} cores of {result['hardware']['cpu']}"


def _control(name: str, page: Page) -> str:
    """A control, in the figure that shows what it is a control for."""
    axes = [drawn for drawn, tasks in FIGURES.items() if name in tasks]
    result, role = measured()[name], "a control"
    drawn = figure(name, result["alt"], page)
    if axes:
        first = measured()[FIGURES[axes[0]][0]]["algorithm"]
        drawn, role = _axes(axes[0], page), f"a control for {_page_of(first, page)}"
    says = result["says"].replace(" steps:", f" steps, {role}:", 1)
    return f"{drawn}\n\n{says} {source(name, page)}"


def _axes(name: str, page: Page) -> str:
    """Several algorithms on the same axes."""
    results = [measured()[task] for task in FIGURES[name]]
    names = ", ".join(result["algorithm"] for result in results)
    says = f"Returns of {names} on {results[0]['world']} as they train"
    return figure(name, says, page)


def _page_of(algorithm: str, page: Page) -> str:
    return f"[{algorithm}]({page.to_docs}algorithms/{algorithm}.md)"


def _commands(found: dict[str, Result]) -> str:
    """The commands of results, and when they ran."""
    sides = [side for of in found.values() for side in (of, of.get("reference", of))]
    days = sorted(side["date"][:10] for side in sides)
    commands = "\n".join(dict.fromkeys(side["command"] for side in sides))
    machines = " and ".join(dict.fromkeys(map(_machine, sides)))
    when = f"Measured from {days[0]} to {days[-1]}, on {machines}"
    return f"{when}:\n\n```bash\n{commands}\n```"
