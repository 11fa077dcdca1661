"""Learning: does an algorithm learn a task, on how many seeds, and beside what?

Every seed trains in a fresh process and is then evaluated with deterministic actions.
The task's reference, another library's algorithm, can be trained on the same seeds.
"""

import dataclasses
import statistics
import time
from collections.abc import Sequence
from typing import Any

from . import references, results, scores, subprocesses
from .style import COLORS, INK, lines
from .tasks import LIBRARIES, TASKS, trainer_class_of

RETURN = "return of deterministic episodes"


def train_seed(name: str, seed: int, episodes: int) -> dict[str, Any]:
    """Train and evaluate one seed, in this process."""
    task, begin = TASKS[name], time.perf_counter()
    with trainer_class_of(task.algorithm)(task.make_config(seed)) as trainer:
        logs = [log for log in trainer() if log["log_type"] == "evaluate"]
        seconds = round(time.perf_counter() - begin, 2)
        final, step = _floats(trainer.evaluate(episodes)), trainer._evaluated_by
    curve = [{step: log[step], **_floats(log)} for log in logs]
    return {"seed": seed, "curve": curve, "final": final, "train_seconds": seconds}


def benchmark(
    name: str, command: str, *, seeds: int, episodes: int, jobs: int, side: str
) -> dict[str, Any]:
    """Train a task on seeds 1 to `seeds`, `jobs` at a time; with the side `both` its
    reference on the same ones.

    Raises:
        ValueError: If the reference is asked for and the task has none.
    """
    task, numbers = TASKS[name], range(1, seeds + 1)
    if side == "both" and task.reference is None:
        raise ValueError(f"{name} names no reference: choose --side yieldrl")
    cases = [{"name": name, "seed": s, "episodes": episodes} for s in numbers]
    result = results.circumstances("learning", command, numbers)
    config, fields = task.make_config().to_dict(), dataclasses.asdict(task)
    del fields["reference"], fields["published"]  # by others, whatever comes out here
    del config["seed"]
    result |= {"task": name, **fields, "whole_config": config, "jobs": jobs}
    result["runs"] = subprocesses.each(train_seed, cases, jobs)
    needed, least = round(task.share * seeds), task.threshold
    low = float("-inf") if least is None else least
    passed = sum(value >= low for value in final_returns(result["runs"]))
    result |= {"criterion": "none", "passed": passed, "holds": passed >= needed}
    if least is not None:
        result["criterion"] = (
            f"episode_return >= {least:g} over {episodes} deterministic"
            f" episodes on at least {needed} of {seeds} seeds"
        )
    if side == "both" and task.reference:
        result["reference"] = {
            **results.circumstances("reference", command, numbers),
            **dataclasses.asdict(task.reference),
            "runs": subprocesses.each(references.train_seed, cases, jobs),
        }
    return result


def final_returns(runs: Sequence[dict[str, Any]]) -> list[float]:
    return [run["final"]["episode_return"] for run in runs]


def world(result: dict[str, Any]) -> str:
    """The environment of a result, without the module that registers it, and the
    arguments that make it another one."""
    config = result["whole_config"]
    given = ", ".join(f"{k}={v}" for k, v in config.get("env_kwargs", {}).items())
    env_id = config["env_id"].rpartition(":")[2]
    return f"{env_id} ({given})" if given else env_id


def is_control(result: dict[str, Any]) -> bool:
    """Whether nothing was asked of it: it shows how something else compares."""
    return result.get("criterion") == "none"


def entries(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """What pages show: returns over seeds, what counts as learned, what is beside."""
    returns, beside = final_returns(result["runs"]), _beside(result)
    config, mean = result["whole_config"], statistics.mean(returns)
    steps = config.get("total_steps", config.get("demonstration_steps"))
    seeds = f"{min(returns):.4g} to {max(returns):.4g}"
    enough = "" if result["holds"] else ": **too few**"
    held = f"{result['passed']} of {len(returns)}{enough}"
    says = (
        f"**{world(result)}**, {steps:,} steps: mean return {mean:.4g} over"
        f" {len(returns)} seeds, from {seeds}"
    )
    if not is_control(result):
        says += f"; {result['threshold']:g} or more on {held}"
    if beside:
        says += f". Beside it: {'; '.join(beside)}."
    others = final_returns(result.get("reference", {"runs": []})["runs"])
    if min(len(returns), len(others)) >= 4:
        own, other = scores.text(returns), scores.text(others)
        says += f" Interquartile means and their 95 % intervals: {own}, and {other}"
        says += " beside it."
    header = ["task", "environment", "steps", "mean", "seeds", "learned", "reference"]
    row = [results.link(name), world(result), f"{steps:,}", f"**{mean:.4g}**", seeds]
    row += ["a control" if is_control(result) else held, "<br>".join(beside) or " "]
    return {
        "summary": {"header": header, "rows": [row]},
        "says": says.removesuffix(".") + ".",
        "world": world(result),
        "alt": f"Returns of {result['algorithm']} on {world(result)} as they train",
    }


def draw(axes: Any, result: dict[str, Any]) -> None:
    """One task: every seed, their mean and its interval, and what it stands beside."""
    runs = points(result["runs"])
    for rows in runs:
        axes.plot(*zip(*rows, strict=True), color=COLORS[0], alpha=0.25, linewidth=0.7)
    lines(axes, {result["algorithm"]: runs})
    if "reference" in result:
        of = result["reference"]
        label = f"{of['algorithm']} of {LIBRARIES[of['library']]}"
        lines(axes, {label: points(of["runs"])}, [INK], zorder=1.9)
    level, published = result["threshold"], TASKS[result["task"]].published
    if level is not None:
        label = f"counts as learned: {level:g}"
        axes.axhline(level, color=INK, linewidth=0.9, linestyle="--", label=label)
    if published is not None:
        level, label = published.value, f"{published.source}: {published.value:g}"
        axes.axhline(level, color=INK, linewidth=0.9, linestyle=":", label=label)
    control = ", a control" if is_control(result) else ""
    title = f"{result['algorithm']} on {world(result)}{control}"
    by = "gradient" if "learn_step" in result["runs"][0]["curve"][0] else "environment"
    axes.set(xlabel=f"{by} steps", ylabel=RETURN)
    axes.set_title(title, wrap=True)


def draw_several(axes: Any, compared: Sequence[dict[str, Any]]) -> None:
    """Tasks of one environment on the same axes."""
    lines(axes, {result["algorithm"]: points(result["runs"]) for result in compared})
    title = ", ".join(dict.fromkeys(map(world, compared)))
    axes.set(title=title, xlabel="environment steps", ylabel=RETURN)


def points(runs: Sequence[dict[str, Any]]) -> list[list[tuple[float, float]]]:
    """Environment steps (of cloning, gradient steps) and return of every evaluation."""
    step = "learn_step" if "learn_step" in runs[0]["curve"][0] else "sample_step"
    return [[(at[step], at["episode_return"]) for at in run["curve"]] for run in runs]


def _beside(result: dict[str, Any]) -> list[str]:
    """What a result is compared with: the reference's mean, and a published number."""
    parts = []
    if "reference" in result:
        of = result["reference"]
        returns = final_returns(of["runs"])
        by = f"{of['library']} {of['algorithm']}, {len(returns)} seeds"
        settings = f"; {of['source']}" if "source" in of else ""
        parts.append(f"{statistics.mean(returns):.4g} ({by}{settings})")
    published = TASKS[result["task"]].published
    if published is not None:
        parts.append(f"{published.value:g} ({published.source})")
    return parts


def _floats(log: Any) -> dict[str, float]:
    return {name: float(value) for name, value in log["logs"].items()}
