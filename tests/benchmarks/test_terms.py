"""Tables and demands in the words of a claim's file."""

from types import SimpleNamespace

import pytest

from yieldrl.benchmarks import terms

CODE = SimpleNamespace(
    SIDES={"a": "first", "b": "second"}, total=lambda runs: sum(r["x"] for r in runs)
)
RUNS = [
    {"side": "a", "n": 1, "x": 2.0, "of": {"y": [1.0, 3.0]}, "z": [2.0, 1.0]},
    {"side": "b", "n": 1, "x": 4.0, "of": {"y": [5.0, 6.0]}, "z": [5.0, 4.0]},
    {"side": "b", "n": 2, "x": 6.0, "of": {"y": [7.0, 8.0]}, "z": [7.0, 2.0]},
]


@pytest.mark.parametrize(
    ("term", "value"),
    [
        ("mean x", 4.0),
        ("max of.y", 8.0),
        ("median x where side=b", 5.0),
        ("max x where n=2 - min x", 4.0),
        ("mean x where side=b / mean x where side=a", 2.5),
        ("median of.y over z", 1.25),
        ("total()", 12.0),
        ("count of.y where side=b", 4),
        ("count x where side=c", 0),
        ("mean x where side=c", None),
    ],
)
def test_a_term_is_a_statistic_of_what_lies_at_a_path(term, value):
    assert terms.Row(RUNS, CODE).number(term) == value


def test_a_table_has_a_row_for_each_name_and_leaves_out_what_no_run_has():
    columns = {
        "side": "{name}, {label}",
        "x": "{min x:.1f} to {max x:.1f}",
        "second": "{mean x where n=2:.0f}",
    }
    spec = {"rows": "SIDES", "by": "side", "columns": columns}
    header, rows = terms.table(spec, RUNS, CODE)
    assert header == ["side", "x", "second"]
    assert rows == [["a, first", "2.0 to 2.0", ""], ["b, second", "4.0 to 6.0", "6"]]


def test_demands_are_judged_for_some_runs_or_for_each_name():
    demands = [
        {"of": {"n": 2}, "demand": "x", "value": "mean x", "at_least": 6.0},
        {
            "rows": "SIDES",
            "by": "side",
            "demand": "{label}",
            "value": "max x",
            "at_most": 2.0,
        },
    ]
    found = terms.judge(demands, RUNS, CODE)
    assert [of.demand for of in found] == ["x", "first", "second"]
    assert [of.holds for of in found] == [True, True, False]
