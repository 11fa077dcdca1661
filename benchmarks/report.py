"""Claims, measured and written down; and every result as text."""

import dataclasses
from typing import Any

from . import results
from .claim import Claim, Options, Run
from .parser import COMMANDS
from .registry import CLAIMS


def benchmark(kind: str, name: str, command: str, **options: Any) -> dict[str, Any]:
    """Measure a claim, and judge it; `options` are fields of `Options`."""
    claim, chosen = CLAIMS[kind][name], Options(**options)
    seeds = [1] if claim.is_one_run else chosen.numbers
    result = results.circumstances(kind, command, seeds)
    runs = claim.measure(chosen)
    demands = judged(claim, runs)
    holds = all(of["holds"] for of in demands)
    header, rows = claim.table(runs)
    result |= {"statement": claim.statement, "table": {"header": header, "rows": rows}}
    entries = {"trial": name, "settings": claim.settings, "demands": demands}
    return result | entries | {"holds": holds, "runs": runs}


def claim_of(result: dict[str, Any]) -> Claim:
    return CLAIMS[result["kind"]][result["trial"]]


def judged(claim: Claim, runs: list[Run]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(verdict) for verdict in claim.judge(runs)]


def report(result: dict[str, Any]) -> str:
    """A result: title, table, notes with the verdicts, and circumstances."""
    title, table, notes = COMMANDS[result["kind"]].module.shown(result)
    lines = [title, "", results.table(*table), "", *notes, results.footer(result)]
    return "\n".join(lines)


def shown(result: dict[str, Any]) -> results.Shown:
    """A claim's result as title, table and notes."""
    claim = claim_of(result)
    return claim.statement, claim.table(result["runs"]), results.verdicts(result)
