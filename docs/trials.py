"""What the site says of trials: made, not typed.

- `::: table collecting` is a table of every trial of collectors in the background,
  `::: table vla` of policies that are told what to do, and `::: table adaptation` of
  worlds whose parameters are hidden: what was demanded, what came out.
- `::: collecting overlap` shows one trial: its figure, its numbers and its command.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import results
from yieldrl.benchmarks.families import FAMILIES

ROOT = Path(__file__).parents[1]
NAMES = "|".join(FAMILIES)
TABLE = re.compile(rf"^::: table ({NAMES})$", re.MULTILINE)
SHOWN = re.compile(rf"^::: ({NAMES}) ([\w-]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Put the table and trials where pages ask for them."""
    up = "../" * page.file.src_uri.count("/") if page else ""
    markdown = TABLE.sub(lambda match: table(match[1]), markdown)
    return SHOWN.sub(lambda match: shown(match[1], match[2], up), markdown)


def committed(family: str) -> dict[str, dict[str, Any]]:
    """Trial -> its committed result, in the order of the trials."""
    folder = ROOT / "benchmarks" / "results"
    paths = {name: folder / f"{family}-{name}.json" for name in FAMILIES[family]}
    return {name: results.load(path) for name, path in paths.items() if path.exists()}


def table(family: str) -> str:
    """A row for every demand, and below them the commands that measure."""
    found = committed(family)
    rows: list[list[str]] = []
    for name, result in found.items():
        demands = result["demands"]
        measured = "<br>".join(f"{of['demand']}: {_value(of)}" for of in demands)
        asked = "<br>".join(f"{of['bound']:g}" for of in demands)
        says = FAMILIES[family][name].statement
        data = f"[{name}](results/{family}-{name}.json)"
        rows.append([data, says, measured or " ", asked or " "])
    header = ["trial", "says", "measured", "asked for"]
    return results.with_commands(header, rows, found)


def shown(family: str, name: str, up: str = "") -> str:
    """One trial: its figure, its table and where it comes from.

    Args:
        family: Of the trial.
        name: Of the trial.
        up: The way from the page's folder to that of all pages, as `"../"`.
    """
    found = committed(family)
    if name not in found:
        return "This was not measured yet."
    result, file = found[name], f"{up}results/{family}-{name}"
    trial = FAMILIES[family][name]
    figure = f"![{trial.statement}]({file}.svg)"
    numbers = results.table(*trial.table(result["runs"]))
    machine = result["hardware"]
    source = (
        f"[Every number]({file}.json) is from `{result['command']}`, on"
        f" {machine['cores']} cores of {machine['cpu']}."
    )
    return "\n\n".join([figure, numbers, source])


def _value(demand: dict[str, Any]) -> str:
    text = f"**{demand['value']:.4g}**"
    return text if demand["holds"] else f"{text}, **not enough**"
