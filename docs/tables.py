"""What the site says of measurements: made, not typed.

- `::: table learning` is a table of every committed learning result, `::: table
  evidence` one of every claim that was measured, `::: table worlds` one of the speed of
  worlds.
- `::: reached by sac` shows all that was measured of one algorithm: figures and means.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Container
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import plot
from yieldrl.benchmarks.learned import final_returns
from yieldrl.benchmarks.tasks import FIGURES, TASKS, published_beside

ROOT = Path(__file__).parents[1]
FOLDER = "benchmarks/results"
TABLE = re.compile(r"^::: table (learning|evidence|worlds)$", re.MULTILINE)
REACHED = re.compile(r"^::: reached by (\w+)$", re.MULTILINE)
SIZES = (1, 16, 256, 1024, 16384, 65536)  # of those measured, what a page has room for


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables and measurements where pages ask for them."""
    markdown = TABLE.sub(lambda match: TABLES[match[1]](), markdown)
    return REACHED.sub(lambda match: reached(match[1]), markdown)


def reached(algorithm: str) -> str:
    """Everything that was measured of an algorithm, on its page in `algorithms/`."""
    drawable = plot.figures(ROOT / FOLDER)
    parts = [
        _figure(name, f"{config['env_id']}, {config['total_steps']:,} steps", drawable)
        + f"**{config['env_id'].rpartition(':')[2]}**, {config['total_steps']:,} steps:"
        f" {_returned(result)}.{_others(result)} {_source(name, result)}"
        for name, result in committed("learning").items()
        if result["algorithm"] == algorithm
        for config in [result["whole_config"]]
    ]
    parts += [
        _figure(name, result["statement"], drawable)
        + f"**{result['statement']}** Means over seeds: {'; '.join(_means(result))}."
        f" It held on {_held(result)} seeds. {_source(name, result)}"
        for name, result in committed("evidence").items()
        if name.rpartition("-")[0] == algorithm
    ]
    parts += _beside_relatives(algorithm, drawable)
    return "\n\n".join(parts) or "This was not measured yet."


def committed(kind: str) -> dict[str, dict[str, Any]]:
    """Name -> every committed result of a kind, in the order of names."""
    paths = sorted((ROOT / FOLDER).glob("*.json"))
    loaded = {path.stem: json.loads(path.read_text("utf-8")) for path in paths}
    return {name: r for name, r in loaded.items() if r["kind"] == kind}


def learning_table() -> str:
    """Every learning result: what was trained, what it reached, how to repeat it."""
    rows, found = [], committed("learning")
    for name, result in found.items():
        config, returns = result["whole_config"], final_returns(result["runs"])
        env_id = config["env_id"].rpartition(":")[2]
        row = [_data(name), env_id, f"{config['total_steps']:,}"]
        row += [f"**{statistics.mean(returns):.4g}**"]
        row += [f"{min(returns):.4g} to {max(returns):.4g}", _held(result)]
        rows.append([*row, _beside(result)])
    header = ["task", "environment", "steps", "mean", "seeds", "learned", "reference"]
    return _table(header, rows, found)


def evidence_table() -> str:
    """Every claim that was measured, its numbers' means, and how to repeat it."""
    rows, found = [], committed("evidence")
    for name, result in found.items():
        rows.append([_data(name), result["statement"], "<br>".join(_means(result))])
        rows[-1].append(_held(result))
    return _table(["claim", "says", "means over seeds", "held"], rows, found)


def worlds_table() -> str:
    """Steps per second: a row for every side of a world, the fastest of a size bold."""
    rows, found, drawable = [], committed("worlds"), plot.figures(ROOT / FOLDER)
    for name, result in found.items():
        at = {point["num_envs"]: point["sides"] for point in result["points"]}
        title = _world(name, result, drawable)
        for side in result["sides"]:
            speeds = [_speed(at.get(size, {}), side) for size in SIZES]
            held = [p[side]["bytes_per_env"] for p in at.values() if side in p][-1]
            rows.append([title, side, *speeds, f"{held:,.0f}" if held else " "])
            title = " "
    return _table(["world", "side", *(f"{n:,}" for n in SIZES), "bytes"], rows, found)


def _world(name: str, result: dict[str, Any], drawable: Container[str]) -> str:
    """What was stepped, on what, and whether it is as fast as is demanded."""
    many = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    machine = result["hardware"]
    lines = [f"**{result['env_id']}**", machine.get("gpu") or machine["cpu"], many]
    verdicts = [of["holds"] for of in result["demands"] if of["holds"] is not None]
    if verdicts:
        lines.append(f"{sum(verdicts)} of {len(verdicts)} demands hold")
    if name in drawable:
        lines.append(f"[figure](results/{name}.svg)")
    return "<br>".join([*lines, _data(name)])


def _speed(sides: dict[str, Any], side: str) -> str:
    """Steps per second in thousands or millions."""
    if side not in sides:
        return " "
    speeds = {name: of["steps_per_second"] for name, of in sides.items()}
    of = speeds[side]
    text = f"{of / 1e6:.3g} M" if of >= 1e6 else f"{of / 1e3:.3g} k"
    return f"**{text}**" if of == max(speeds.values()) else text


def _beside(result: dict[str, Any]) -> str:
    """What a result stands beside: the reference's mean, and a published number."""
    parts = []
    if "reference" in result:
        of = result["reference"]
        returns = final_returns(of["runs"])
        mean = f"{statistics.mean(returns):.4g}"
        parts.append(
            f"{mean} ({of['library']} {of['algorithm']}, {len(returns)} seeds)"
        )
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


def _data(name: str) -> str:
    return f"[{name}](results/{name}.json)"


def _table(
    header: list[str], rows: list[list[str]], found: dict[str, dict[str, Any]]
) -> str:
    """A table, and below it the commands that fill it."""
    if not rows:
        return "Nothing has been measured yet."
    all_rows = [header, ["---"] * len(header), *rows]
    table = "\n".join(f"| {' | '.join(row)} |" for row in all_rows)
    sides = [(result, result.get("reference", result)) for result in found.values()]
    commands = dict.fromkeys(side["command"] for pair in sides for side in pair)
    lines = "\n".join(commands)
    return f"{table}\n\n```bash\n{lines}\n```"


def _means(result: dict[str, Any]) -> list[str]:
    """The means of what a claim measured, each with its name."""
    numbers = [run["numbers"] for run in result["runs"]]
    return [
        f"{key}: {statistics.mean(of[key] for of in numbers):.4g}" for key in numbers[0]
    ]


def _figure(name: str, text: str, drawable: Container[str]) -> str:
    return f"![{text}](../results/{name}.svg)\n\n" if name in drawable else ""


def _beside_relatives(algorithm: str, drawable: Container[str]) -> list[str]:
    """The figures that compare it with others of the family."""
    shown = []
    for name, tasks in FIGURES.items():
        members = [TASKS[task].algorithm for task in tasks]
        figure = _figure(name, f"{', '.join(members)}: {name}", drawable)
        if algorithm in members and figure:
            others = [f"[{of}]({of}.md)" for of in members if of != algorithm]
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
    return f" Beside it: {beside}." if beside else ""


def _source(name: str, result: dict[str, Any]) -> str:
    return f"[Every number](../results/{name}.json) is from `{result['command']}`."


TABLES = {
    "learning": learning_table,
    "evidence": evidence_table,
    "worlds": worlds_table,
}
