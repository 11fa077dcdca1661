"""What the scripts in `figures/` share: a command line, runs, and files to keep.

    python -m benchmarks.figures.overestimation --seeds 5

measures and prints a table; with `--keep` it writes docs/results/NAME.json and the
figure beside it, with `--again` it prints and draws what is kept, measuring nothing.
"""

import argparse
import itertools
import shlex
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import attrgetter, getitem
from typing import Any

from torch import Tensor

from . import results, subprocesses
from .style import save_figure, series

Run = Mapping[str, Any]
Runs = Sequence[Run]
Table = tuple[list[str], list[list[str]]]  # a header, and rows
RETURN = "episode_return"


def parser(*names: str) -> argparse.ArgumentParser:
    """The command line of a script; with several names one is chosen."""
    words = argparse.ArgumentParser()
    words.set_defaults(name=names[0])
    if len(names) > 1:
        words.add_argument("name", choices=names)
    words.add_argument("--seeds", type=int, default=5, help="how many (5)")
    words.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    kept = words.add_mutually_exclusive_group()
    kept.add_argument("--keep", action="store_true", help="write into docs/results")
    kept.add_argument("--again", action="store_true", help="draw what is kept")
    return words


def said(name: str, docstring: str | None) -> dict[str, str]:
    """A script's only figure, and its sentence for pages: what the docstring begins
    with."""
    return {name: " ".join(str(docstring).partition("\n\n")[0].split())}


def main(
    says: Mapping[str, str],
    measure: Callable[..., Any],
    table: Callable[[Runs], Table] | None = None,
    draw: Callable[..., object] | None = series,
    labels: Mapping[str, str] | None = None,
    one_at_a_time: bool = False,
    **over: Any,
) -> None:
    """Measure the figure that the command line asks for, print it and keep it.

    Args:
        says: Name of each figure of the script, and its sentence for pages.
        measure: Gives a run of a seed, in a process of its own; it gets the name too,
            where there are several.
        table: What is read off the runs, by default their `numbers`.
        draw: Draws them on Matplotlib's axes, if there is a picture.
        labels: Of the axes, for `draw`.
        one_at_a_time: Whether runs would disturb each other.
        over: What further arguments of `measure` go through, or what gives that of a
            name; every seed has all of them.
    """
    options = parser(*says).parse_args()
    name, path = options.name, results.FOLDER / f"{options.name}.json"
    if options.again:
        result = results.load(path)
    else:
        typed = [word for word in sys.argv[1:] if word != "--keep"]
        command = shlex.join(["python", "-m", subprocesses.script(), *typed])
        cases: dict[str, Any] = {"seed": range(1, options.seeds + 1)}
        cases |= {"name": [name]} if len(says) > 1 else {}
        cases |= {k: of(name) if callable(of) else of for k, of in over.items()}
        rows = itertools.product(*cases.values())
        todo = [dict(zip(cases, row, strict=True)) for row in rows]
        result = results.circumstances("figure", command, cases["seed"])
        jobs = 1 if one_at_a_time else options.jobs
        result["runs"] = subprocesses.each(measure, todo, jobs)
    runs = result.pop("runs")
    header, rows = (table or numbers)(runs)
    print(says[name], results.table(header, rows), results.footer(result), sep="\n\n")
    if not (options.keep or options.again):
        return
    algorithm = name.partition("-")[0]  # whose page shows it
    if (results.ROOT / "algorithms" / algorithm).is_dir():
        result["algorithm"] = algorithm
    head, row = ["figure", "what it says"], [results.link(name), says[name]]
    result |= {"says": says[name], "alt": says[name]}
    result["summary"] = {"header": head, "rows": [row]}
    result |= {"table": {"header": header, "rows": rows}, "runs": runs}
    results.save(result, path)
    if draw is not None:
        fill = partial(draw, runs=runs, **(labels or {}))
        save_figure(fill, path.with_suffix(".svg"))


def some(runs: Runs, **where: Any) -> list[Run]:
    """The runs in which entries have these values."""
    return [run for run in runs if all(run.get(k) == v for k, v in where.items())]


def values(runs: Runs, *path: Any, **where: Any) -> list[Any]:
    """What lies at a path in every run in which entries have these values."""
    return [reduce(getitem, path, run) for run in some(runs, **where)]


def mean(runs: Runs, *path: str, **where: Any) -> float:
    return statistics.mean(values(runs, *path, **where))


def spread(found: Sequence[float], of: str = ".3f") -> str:
    """Mean, least and greatest."""
    low, high = (format(end, of) for end in (min(found), max(found)))
    return f"{statistics.mean(found):{of}} ({low} to {high})"


def trained(
    trainer: Any,
    digits: int = 2,
    note: Callable[[Any], object] = lambda log: None,
    name: str = RETURN,
) -> list[list[float]]:
    """Train to the end: steps and return of every evaluation, or another of its
    numbers; `note` gets every log."""
    curve: list[list[float]] = []
    for log in trainer():
        note(log)
        if log["log_type"] == "evaluate":
            curve.append([log["sample_step"], round(float(log["logs"][name]), digits)])
    return curve


def score(
    trainer: Any, episodes: int, digits: int = 2, name: str = RETURN, **how: Any
) -> float:
    """Mean return of deterministic episodes, or another of their numbers."""
    return round(float(trainer.evaluate(episodes, **how)["logs"][name]), digits)


def rounded(value: Tensor, digits: int = 3) -> list[Any]:
    """A tensor's numbers, as short as a figure needs them."""
    return value.double().round(decimals=digits).tolist()


def timed(
    owner: Any, calls: Mapping[str, str], wait: Callable[[], object] = lambda: None
) -> defaultdict[str, float]:
    """The seconds that methods of an object or its parts take, added up from now on, of
    each name that `calls` has for such a `part.of_it.method`; `wait` ends each call."""
    seconds: defaultdict[str, float] = defaultdict(float)

    def call(function: Callable[..., Any], name: str, *args: Any, **how: Any) -> Any:
        begin = time.perf_counter()
        answer = function(*args, **how)
        wait()
        seconds[name] += time.perf_counter() - begin
        return answer

    for name, path in calls.items():
        part, _, method = path.rpartition(".")
        owned = attrgetter(part)(owner)
        setattr(owned, method, partial(call, getattr(owned, method), name))
    return seconds


def numbers(runs: Runs) -> Table:
    """A row for each of the runs' numbers: mean, least and greatest."""
    names = runs[0]["numbers"]
    rows = [[name, spread(values(runs, "numbers", name), ".4g")] for name in names]
    return [f"mean of {len(runs)} seeds, least and most", " "], rows
