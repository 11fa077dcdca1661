"""What the site says of measurements: made, not typed.

- `::: table learning` is a table of every committed learning result, `::: table
  evidence` one of every claim that was measured.
- `::: reached by sac` shows all that was measured of one algorithm: figures and means,
  and last what it was trained for as a control, beside another algorithm.
- `::: measured double_dqn-chance` is one claim, `::: measured corridor` one figure that
  compares algorithms, and what each of them reached.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Container
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

from yieldrl.benchmarks import plot, scores
from yieldrl.benchmarks.learned import final_returns, is_control, world
from yieldrl.benchmarks.results import link, with_commands
from yieldrl.benchmarks.tasks import FIGURES, TASKS, published_beside

ROOT = Path(__file__).parents[1]
FOLDER = "benchmarks/results"
TABLE = re.compile(r"^::: table (learning|evidence)$", re.MULTILINE)
REACHED = re.compile(r"^::: reached by (\w+)$", re.MULTILINE)
MEASURED = re.compile(r"^::: measured ([\w-]+)$", re.MULTILINE)
CONTROLS = (
    "### As a control\n\nTrained to see another algorithm beside it, in a world where"
    " this one lacks something or as one of the other's parts. Nothing was asked of it."
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables and measurements where pages ask for them."""
    markdown = MEASURED.sub(lambda match: measured(match[1]), markdown)
    markdown = TABLE.sub(lambda match: TABLES[match[1]](), markdown)
    return REACHED.sub(lambda match: reached(match[1]), markdown)


def reached(algorithm: str) -> str:
    """Everything that was measured of an algorithm, for a page in any one folder."""
    drawable = plot.figures(ROOT / FOLDER)
    found = {
        name: result
        for name, result in committed("learning").items()
        if result["algorithm"] == algorithm
    }
    controls = {name: result for name, result in found.items() if is_control(result)}
    parts = [
        _figure(name, _curves([algorithm], result), drawable) + _learned(name, result)
        for name, result in found.items()
        if name not in controls
    ]
    parts += [
        _claim(name, result, drawable)
        for name, result in committed("evidence").items()
        if name.rpartition("-")[0] == algorithm
    ]
    parts += _beside_relatives(algorithm, controls, drawable)
    if controls:
        parts += [CONTROLS, *(_control(*of, drawable) for of in controls.items())]
    return "\n\n".join(parts) or "This was not measured yet."


def measured(name: str) -> str:
    """One claim, or one figure that compares algorithms and what each reached.

    Raises:
        PluginError: If there is none of that name.
    """
    drawable, claims = plot.figures(ROOT / FOLDER), committed("evidence")
    if name in claims:
        return _claim(name, claims[name], drawable)
    if name not in drawable or name not in FIGURES:
        raise PluginError(f"nothing was measured that is called {name}")
    learned = committed("learning")
    found = {task: learned[task] for task in FIGURES[name] if task in learned}
    members = [result["algorithm"] for result in found.values()]
    rows = [
        f"- [{of}](../algorithms/{of}.md): {_returned(result)}. {_source(task, result)}"
        for of, (task, result) in zip(members, found.items(), strict=True)
    ]
    about = _curves(members, learned[FIGURES[name][0]])
    return _figure(name, about, drawable) + "\n".join(rows)


def committed(kind: str) -> dict[str, dict[str, Any]]:
    """Name -> every committed result of a kind, in the order of names."""
    paths = sorted((ROOT / FOLDER).glob("*.json"))
    loaded = {path.stem: json.loads(path.read_text("utf-8")) for path in paths}
    return {name: r for name, r in loaded.items() if r["kind"] == kind}


def learning_table() -> str:
    """Every learning result and how to repeat it, those of controls last."""
    rows, learned = [], committed("learning")
    found = dict(sorted(learned.items(), key=lambda item: is_control(item[1])))
    for name, result in found.items():
        returns = final_returns(result["runs"])
        steps = f"{result['whole_config']['total_steps']:,}"
        row = [link(name), world(result), steps, f"**{statistics.mean(returns):.4g}**"]
        held = "a control" if is_control(result) else _held(result)
        row += [f"{min(returns):.4g} to {max(returns):.4g}", held]
        rows.append([*row, _beside(result)])
    header = ["task", "environment", "steps", "mean", "seeds", "learned", "reference"]
    return with_commands(header, rows, found)


def evidence_table() -> str:
    """Every claim that was measured, its numbers' means, and how to repeat it."""
    rows, found = [], committed("evidence")
    for name, result in found.items():
        rows.append([link(name), result["statement"], "<br>".join(_means(result))])
        rows[-1].append(_held(result))
    return with_commands(["claim", "says", "means over seeds", "held"], rows, found)


def _beside(result: dict[str, Any]) -> str:
    """What a result stands beside: the reference's mean, and a published number."""
    parts = []
    if "reference" in result:
        of = result["reference"]
        returns = final_returns(of["runs"])
        mean = f"{statistics.mean(returns):.4g}"
        by = f"{of['library']} {of['algorithm']}, {len(returns)} seeds"
        settings = f"; {of['source']}" if "source" in of else ""
        parts.append(f"{mean} ({by}{settings})")
    published = published_beside(result)
    if published is not None:
        parts.append(f"{published.value:g} ({published.source})")
    return "<br>".join(parts) or " "


def _held(result: dict[str, Any]) -> str:
    """On how many seeds, and whether that was enough."""
    if result["criterion"] == "none":
        return " "
    enough = "" if result["holds"] else ": **too few**"
    return f"{result['passed']} of {len(result['runs'])}{enough}"


def _means(result: dict[str, Any]) -> list[str]:
    """The means of what a claim measured, each with its name."""
    numbers = [run["numbers"] for run in result["runs"]]
    return [
        f"{key}: {statistics.mean(of[key] for of in numbers):.4g}" for key in numbers[0]
    ]


def _claim(name: str, result: dict[str, Any], drawable: Container[str]) -> str:
    """A claim in words, under its figure."""
    algorithm, statement = name.rpartition("-")[0], result["statement"]
    return (
        f"{_figure(name, f'{algorithm}: {statement}', drawable)}"
        f"**{statement}** Means over seeds: {'; '.join(_means(result))}."
        f" It held on {_held(result)} seeds. {_source(name, result)}"
    )


def _figure(name: str, text: str, drawable: Container[str]) -> str:
    return f"![{text}](../results/{name}.svg)\n\n" if name in drawable else ""


def _curves(algorithms: list[str], result: dict[str, Any]) -> str:
    """What a figure shows, for who cannot see it."""
    return f"Returns of {', '.join(algorithms)} on {world(result)} as they train"


def _learned(name: str, result: dict[str, Any], role: str = "") -> str:
    """A learning result in words."""
    steps = result["whole_config"]["total_steps"]
    return (
        f"**{world(result)}**, {steps:,} steps{role}: {_returned(result)}."
        f"{_others(result)} {_source(name, result)}"
    )


def _control(name: str, result: dict[str, Any], drawable: Container[str]) -> str:
    """A control, in the figure where one sees what it is a control for."""
    for figure, tasks in FIGURES.items():
        if name in tasks and figure in drawable:
            members = [TASKS[task].algorithm for task in tasks]
            role = f", a control for [{members[0]}](../algorithms/{members[0]}.md)"
            shown = _figure(figure, _curves(members, result), drawable)
            return shown + _learned(name, result, role)
    shown = _figure(name, _curves([result["algorithm"]], result), drawable)
    return shown + _learned(name, result, ", a control")


def _beside_relatives(
    algorithm: str, controls: Container[str], drawable: Container[str]
) -> list[str]:
    """The figures that compare it with others of the family, as no mere control."""
    shown, found = [], committed("learning")
    for name, tasks in FIGURES.items():
        members = {task: TASKS[task].algorithm for task in tasks}
        mine = [task for task, of in members.items() if of == algorithm]
        if not mine or name not in drawable or mine[0] in controls:
            continue
        others = [
            f"[{of}](../algorithms/{of}.md)"
            for of in members.values()
            if of != algorithm
        ]
        result = next(found[task] for task in tasks if task in found)
        figure = _figure(name, _curves([*members.values()], result), drawable)
        shown.append(f"{figure}On the same axes with {', '.join(others)}.")
    return shown


def _returned(result: dict[str, Any]) -> str:
    """Mean, worst and best of the final evaluations, and what was asked of them."""
    returns = final_returns(result["runs"])
    text = (
        f"mean return {statistics.mean(returns):.4g} over {len(returns)} seeds,"
        f" from {min(returns):.4g} to {max(returns):.4g}"
    )
    if result["criterion"] == "none":
        return text
    return f"{text}; {result['threshold']:g} or more on {_held(result)}"


def _others(result: dict[str, Any]) -> str:
    beside = _beside(result).strip().replace("<br>", "; ")
    return f" Beside it: {beside}.{_intervals(result)}" if beside else ""


def _intervals(result: dict[str, Any]) -> str:
    """Interquartile means of both sides, where each has seeds enough for one."""
    runs = [of["runs"] for of in (result, result.get("reference")) if of]
    if len(runs) < 2 or min(map(len, runs)) < 4:
        return ""
    own, other = (scores.text(final_returns(of)) for of in runs)
    return (
        f" Interquartile means and their 95 % intervals: {own}, and {other} beside it."
    )


def _source(name: str, result: dict[str, Any]) -> str:
    return f"[Every number](../results/{name}.json) is from `{result['command']}`."


TABLES = {"learning": learning_table, "evidence": evidence_table}
