"""Trials, by the command that measures them.

- `::: table collecting` is a table of every trial of collectors in the background,
  `::: table cluster` of those on Ray, `::: table vla` of policies that read
  instructions, and `::: table adaptation` of worlds whose parameters are hidden:
  demands, and what was measured.
- `::: collecting overlap` shows one trial: its figure, its numbers and its command.
"""

from __future__ import annotations

from yieldrl.benchmarks import results
from yieldrl.benchmarks.registry import TRIALS

from .directives import Page, directive
from .measured import NOTHING, Result, committed, machine, source, unless_held

NAMES = "|".join(TRIALS)


def _of_family(family: str) -> dict[str, Result]:
    """Trial -> its committed result, in the order of the trials."""
    found = committed()
    names = [(name, f"{family}-{name}") for name in TRIALS[family]]
    return {name: found[file] for name, file in names if file in found}


@directive(rf"table ({NAMES})")
def table(family: str) -> str:
    """A row for every demand, and below them the commands that measure."""
    found, rows = _of_family(family), []
    for name, result in found.items():
        demands = result["demands"]
        values = [(of, f"{of['demand']}: **{of['value']:.4g}**") for of in demands]
        measured = "<br>".join(unless_held(*of) for of in values)
        asked = "<br>".join(f"{of['bound']:g}" for of in demands)
        data = f"[{name}](results/{family}-{name}.json)"
        says = TRIALS[family][name].statement
        rows.append([data, says, measured or " ", asked or " "])
    header = ["trial", "says", "measured", "asked for"]
    return results.with_commands(header, rows, found)


@directive(rf"({NAMES}) ([\w-]+)")
def shown(family: str, name: str, page: Page) -> str:
    """One trial: its figure, its table and the command that repeats it."""
    found = _of_family(family)
    if name not in found:
        return NOTHING
    result, trial, file = found[name], TRIALS[family][name], f"{family}-{name}"
    figure = f"![{trial.statement}]({page.to_docs}results/{file}.svg)"
    numbers = results.table(*trial.table(result["runs"]))
    by = f"{source(file, result, page.to_docs)}, {machine(result)}"
    return "\n\n".join([figure, numbers, by])
