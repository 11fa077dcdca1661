"""Tables and figures of learning results and of measured claims.

- `::: table learning` is a table of every committed learning result, `::: table
  evidence` one of every claim that was measured.
- `::: reached by sac` shows all that was measured of one algorithm: figures and means,
  and last its runs as a control, beside another algorithm.
- `::: measured double_dqn-chance` is one claim, `::: measured corridor` one figure that
  compares algorithms, and what each of them reached.
"""

from __future__ import annotations

import statistics
from collections.abc import Container

from yieldrl.benchmarks import scores
from yieldrl.benchmarks.learning import final_returns, is_control, world
from yieldrl.benchmarks.results import link, with_commands
from yieldrl.benchmarks.tasks import FIGURES, TASKS, published_beside

from .directives import DirectiveError, directive
from .measured import (
    NOTHING,
    Result,
    can_be_drawn,
    committed,
    figure,
    held,
    means,
    source,
)

CONTROLS = (
    "### As a control\n\nTrained to see another algorithm beside it, in a world where"
    " this one lacks something or as one of the other's parts. Nothing was asked of it."
)


@directive("table learning")
def learning_table() -> str:
    """Every learning result and how to repeat it, those of controls last."""
    rows, learned = [], committed("learning")
    found = dict(sorted(learned.items(), key=lambda item: is_control(item[1])))
    for name, result in found.items():
        returns = final_returns(result["runs"])
        steps = f"{result['whole_config']['total_steps']:,}"
        row = [link(name), world(result), steps, f"**{statistics.mean(returns):.4g}**"]
        row += [f"{min(returns):.4g} to {max(returns):.4g}"]
        row += ["a control" if is_control(result) else held(result)]
        rows.append([*row, "<br>".join(_beside(result)) or " "])
    header = ["task", "environment", "steps", "mean", "seeds", "learned", "reference"]
    return with_commands(header, rows, found)


@directive("table evidence")
def evidence_table() -> str:
    """Every claim that was measured, its numbers' means, and how to repeat it."""
    found = committed("evidence")
    rows = [
        [link(name), result["statement"], "<br>".join(means(result)), held(result)]
        for name, result in found.items()
    ]
    return with_commands(["claim", "says", "means over seeds", "held"], rows, found)


@directive(r"reached by (\w+)")
def reached(algorithm: str) -> str:
    """Everything that was measured of an algorithm, for a page in a folder."""
    own = {
        n: r for n, r in committed("learning").items() if r["algorithm"] == algorithm
    }
    controls = {name: result for name, result in own.items() if is_control(result)}
    parts = [
        figure(name, _curves([algorithm], result)) + _learned(name, result)
        for name, result in own.items()
        if name not in controls
    ]
    claims = committed("evidence").items()
    parts += [_claim(n, r) for n, r in claims if n.rpartition("-")[0] == algorithm]
    parts += _with_relatives(algorithm, controls)
    if controls:
        parts += [CONTROLS, *(_control(name, of) for name, of in controls.items())]
    return "\n\n".join(parts) or NOTHING


@directive(r"measured ([\w-]+)")
def measured(name: str) -> str:
    """One claim, or one figure that compares algorithms and what each reached."""
    claims, learned = committed("evidence"), committed("learning")
    if name in claims:
        return _claim(name, claims[name])
    if not can_be_drawn(name) or name not in FIGURES:
        raise DirectiveError(f"nothing was measured that is called {name}")
    found = {task: learned[task] for task in FIGURES[name] if task in learned}
    members = [result["algorithm"] for result in found.values()]
    rows = [
        f"- {_page_of(of)}: {_returned(result)}. {source(task, result)}."
        for of, (task, result) in zip(members, found.items(), strict=True)
    ]
    return figure(name, _curves(members, learned[FIGURES[name][0]])) + "\n".join(rows)


def _beside(result: Result) -> list[str]:
    """What a result is compared with: the reference's mean, and a published number."""
    parts = []
    if "reference" in result:
        of = result["reference"]
        returns = final_returns(of["runs"])
        by = f"{of['library']} {of['algorithm']}, {len(returns)} seeds"
        settings = f"; {of['source']}" if "source" in of else ""
        parts.append(f"{statistics.mean(returns):.4g} ({by}{settings})")
    published = published_beside(result)
    if published is not None:
        parts.append(f"{published.value:g} ({published.source})")
    return parts


def _claim(name: str, result: Result) -> str:
    """A claim in words, under its figure."""
    statement = result["statement"]
    text = f"{name.rpartition('-')[0]}: {statement}"
    return (
        f"{figure(name, text)}"
        f"**{statement}** Means over seeds: {'; '.join(means(result))}."
        f" It held on {held(result)} seeds. {source(name, result)}."
    )


def _curves(algorithms: list[str], result: Result) -> str:
    """What a figure shows, for those who cannot see it."""
    return f"Returns of {', '.join(algorithms)} on {world(result)} as they train"


def _page_of(algorithm: str) -> str:
    return f"[{algorithm}](../algorithms/{algorithm}.md)"


def _learned(name: str, result: Result, role: str = "") -> str:
    """A learning result in words."""
    steps, beside = result["whole_config"]["total_steps"], "; ".join(_beside(result))
    others = f" Beside it: {beside}.{_intervals(result)}" if beside else ""
    return (
        f"**{world(result)}**, {steps:,} steps{role}: {_returned(result)}.{others}"
        f" {source(name, result)}."
    )


def _control(name: str, result: Result) -> str:
    """A control, in the figure that shows what it is a control for."""
    for drawn, tasks in FIGURES.items():
        if name in tasks and can_be_drawn(drawn):
            members = [TASKS[task].algorithm for task in tasks]
            role = f", a control for {_page_of(members[0])}"
            shown = figure(drawn, _curves(members, result))
            return shown + _learned(name, result, role)
    shown = figure(name, _curves([result["algorithm"]], result))
    return shown + _learned(name, result, ", a control")


def _with_relatives(algorithm: str, controls: Container[str]) -> list[str]:
    """The figures that compare an algorithm with others, where it is no control."""
    shown, found = [], committed("learning")
    for name, tasks in FIGURES.items():
        members = {task: TASKS[task].algorithm for task in tasks}
        mine = [task for task, of in members.items() if of == algorithm]
        if mine and can_be_drawn(name) and mine[0] not in controls:
            others = [_page_of(of) for of in members.values() if of != algorithm]
            result = next(found[task] for task in tasks if task in found)
            drawn = figure(name, _curves([*members.values()], result))
            shown.append(f"{drawn}On the same axes with {', '.join(others)}.")
    return shown


def _returned(result: Result) -> str:
    """Mean, worst and best of the final evaluations, and the criterion for them."""
    returns = final_returns(result["runs"])
    text = (
        f"mean return {statistics.mean(returns):.4g} over {len(returns)} seeds,"
        f" from {min(returns):.4g} to {max(returns):.4g}"
    )
    if result["criterion"] == "none":
        return text
    return f"{text}; {result['threshold']:g} or more on {held(result)}"


def _intervals(result: Result) -> str:
    """Interquartile means of both sides, if each has at least four seeds."""
    runs = [of["runs"] for of in (result, result.get("reference")) if of]
    if len(runs) < 2 or min(map(len, runs)) < 4:
        return ""
    own, other = (scores.text(final_returns(of)) for of in runs)
    return (
        f" Interquartile means and their 95 % intervals: {own}, and {other} beside it."
    )
