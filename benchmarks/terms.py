"""Tables and demands in the words of a claim's file.

mean improved.success           of what lies at a path in the runs; lists are joined
median * where side=lora        `*` is the row's name, `@` its label; of some runs
max sync over async             of the ratios of two paths
min gains()                     of what a function of the claim's code gives
growth()                        what it gives itself
median a / median b             two of these, with " / " or " - "
"""

import operator
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Run = Mapping[str, Any]  # one thing that was measured: a line of the result file
Table = tuple[list[str], list[list[str]]]  # a header, and rows
STATISTICS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "mean": statistics.mean,
    "median": statistics.median,
    "min": min,
    "max": max,
    "count": len,
    "quartile": lambda found: statistics.quantiles(found, n=4)[0],
    "upper-quartile": lambda found: statistics.quantiles(found, n=4)[2],
}
OPERATIONS = {" - ": operator.sub, " / ": operator.truediv}
TERM = re.compile(r"\{([^{}:]+):?([^{}]*)\}")


def values(runs: Sequence[Run], *path: str, **where: Any) -> list[Any]:
    """What lies at a path in every run in which entries have these values."""
    found: list[Any] = []
    for run in runs:
        if all(run.get(name) == value for name, value in where.items()):
            value: Any = run
            for key in path:
                value = value[key]
            found.append(value)
    return found


def mean(runs: Sequence[Run], *path: str, **where: Any) -> float:
    return statistics.mean(values(runs, *path, **where))


def median(runs: Sequence[Run], *path: str, **where: Any) -> float:
    return statistics.median(values(runs, *path, **where))


@dataclass(frozen=True)
class Row:
    """Some runs, and what they have in common.

    Attributes:
        code: The claim's module.
        name: Of the row, and `label`, the same in words.
    """

    runs: Sequence[Run]
    code: Any
    name: str = ""
    label: Any = ""

    def number(self, term: str) -> Any:
        """The value of a term; None if no run has one.

        >>> Row([{"a": [1, 3]}, {"a": [8]}], None).number("max a - median a")
        5
        """
        for sign, operation in OPERATIONS.items():
            left, joined, right = term.partition(sign)
            if joined:
                return operation(self.number(left), self.number(right))
        statistic, _, path = term.partition(" ")
        if not path:
            return getattr(self.code, term.removesuffix("()"))(self.runs)
        path, _, condition = path.partition(" where ")
        key, _, wanted = condition.partition("=")
        runs = [run for run in self.runs if not key or str(run[key]) == wanted]
        above, _, below = path.partition(" over ")
        found = self._values(above, runs)
        if below:
            pairs = zip(found, self._values(below, runs), strict=True)
            found = [one / other for one, other in pairs]
        if not found and statistic != "count":
            return None
        return STATISTICS[statistic](found)

    def _values(self, path: str, runs: Sequence[Run]) -> list[Any]:
        if path.endswith("()"):
            return getattr(self.code, path.removesuffix("()"))(runs)
        path = path.replace("*", self.name).replace("@", str(self.label))
        found = values(runs, *path.split("."))
        if found and isinstance(found[0], list):
            return [value for several in found for value in several]
        return found

    def text(self, template: str) -> str:
        """A text with terms in braces, as "{mean seconds:.1f} s"; also of {name} and
        {label}."""

        def filled(found: re.Match[str]) -> str:
            term, spec = found.groups()
            known = {"name": self.name, "label": self.label}
            value = known[term] if term in known else self.number(term)
            return "" if value is None else format(value, spec)

        return TERM.sub(filled, template)


def rows_of(spec: Mapping[str, Any], runs: Sequence[Run], code: Any) -> Iterator[Row]:
    """A row for each name in the constant `rows` of the code.

    It has the runs whose entry `by` has that name, or all of them. Without `rows` there
    is one, of the runs with the entries in `of`.
    """
    if "rows" not in spec:
        where = spec.get("of", {}).items()
        yield Row([r for r in runs if all(r[k] == v for k, v in where)], code)
        return
    names, by = getattr(code, spec["rows"]), spec.get("by")
    labels = names if isinstance(names, Mapping) else {name: name for name in names}
    for name, label in labels.items():
        some = runs if by is None else [run for run in runs if run[by] == name]
        yield Row(some, code, str(name), label)


def table(spec: Mapping[str, Any], runs: Sequence[Run], code: Any) -> Table:
    """A row for each name, and for each column what its template gives."""
    columns = spec["columns"]
    rows = rows_of(spec, runs, code)
    return [*columns], [[row.text(of) for of in columns.values()] for row in rows]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is demanded of a number, and whether it is so."""

    demand: str
    value: float
    bound: float
    holds: bool


def at_least(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be lower than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value >= bound)


def at_most(demand: str, value: float, bound: float) -> Verdict:
    """A number that must not be higher than its bound."""
    return Verdict(demand=demand, value=value, bound=bound, holds=value <= bound)


def judge(
    demands: Sequence[Mapping[str, Any]], runs: Sequence[Run], code: Any
) -> list[Verdict]:
    """A verdict on each demand: the text, the term, and `at_least` or `at_most`."""
    return [
        at_least(row.text(of["demand"]), row.number(of["value"]), of["at_least"])
        if "at_least" in of
        else at_most(row.text(of["demand"]), row.number(of["value"]), of["at_most"])
        for of in demands
        for row in rows_of(of, runs, code)
    ]
