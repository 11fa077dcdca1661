"""What the site says of collectors in the background: made, not typed.

- `::: table collecting` is a table of every trial: what was demanded, what came out.
- `::: collecting overlap` shows one trial: its figure, its numbers and its command.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import results
from yieldrl.benchmarks.trials import TRIALS

ROOT = Path(__file__).parents[1]
TABLE = re.compile(r"^::: table collecting$", re.MULTILINE)
SHOWN = re.compile(r"^::: collecting ([\w-]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table and trials where pages ask for them."""
    markdown = TABLE.sub(lambda _: table(), markdown)
    return SHOWN.sub(lambda match: shown(match[1]), markdown)


def committed() -> dict[str, dict[str, Any]]:
    """Trial -> its committed result, in the order of the trials."""
    folder = ROOT / "benchmarks" / "results"
    paths = {name: folder / f"collecting-{name}.json" for name in TRIALS}
    return {name: results.load(path) for name, path in paths.items() if path.exists()}


def table() -> str:
    """A row for every demand, and below them the commands that measure."""
    found = committed()
    if not found:
        return "Nothing has been measured yet."
    rows = ["| trial | says | measured | asked for |", "| --- | --- | --- | --- |"]
    for name, result in found.items():
        data = f"[{name}](results/collecting-{name}.json)"
        demands = result["demands"]
        measured = "<br>".join(f"{of['demand']}: {_value(of)}" for of in demands)
        asked = "<br>".join(f"{of['bound']:g}" for of in demands)
        says = TRIALS[name].statement
        rows.append(f"| {data} | {says} | {measured or ' '} | {asked or ' '} |")
    commands = "\n".join(result["command"] for result in found.values())
    return "\n".join([*rows, "", "```bash", commands, "```"])


def shown(name: str) -> str:
    """One trial: its figure, its table and where it comes from."""
    found = committed()
    if name not in found:
        return "This was not measured yet."
    result, file = found[name], f"results/collecting-{name}"
    figure = f"![{TRIALS[name].statement}]({file}.svg)"
    numbers = results.table(*TRIALS[name].table(result["runs"]))
    machine = result["hardware"]
    source = (
        f"[Every number]({file}.json) is from `{result['command']}`, on"
        f" {machine['cores']} cores of {machine['cpu']}."
    )
    return "\n\n".join([figure, numbers, source])


def _value(demand: dict[str, Any]) -> str:
    text = f"**{demand['value']:.4g}**"
    return text if demand["holds"] else f"{text}, **not enough**"
