"""Trials of collectors on the site."""

from __future__ import annotations

import json

import pytest
from site_logic import rendered

from yieldrl.benchmarks.claims.collecting import overlap
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.docs._site import measured

STATEMENT = CLAIMS["collecting"]["overlap"].statement


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A folder of results, and a function that puts one into it."""
    monkeypatch.setattr(measured, "FOLDER", tmp_path)

    def put(name, **result):
        result = {"hardware": {"cpu": "A CPU", "cores": 2}, **result}
        (tmp_path / f"collecting-{name}.json").write_text(json.dumps(result))

    return put


def test_trials_are_a_table_that_nobody_typed(committed):
    assert "Nothing has been measured" in rendered("::: table collecting")
    demands = [
        {"demand": "faster", "value": 1.9123, "bound": 1.8, "holds": True},
        {"demand": "bigger", "value": 3.0, "bound": 4.0, "holds": False},
    ]
    command = "python -m benchmarks collecting"
    committed("lag", command=f"{command} lag", demands=[])
    committed("overlap", command=f"{command} overlap", demands=demands)
    lines = rendered("::: table collecting\n").splitlines()
    assert lines[2] == (
        f"| [overlap](results/collecting-overlap.json) | {STATEMENT} |"
        " faster: **1.912**<br>bigger: **3**, **not enough** | 1.8<br>4 |"
    )
    assert lines[3].startswith("| [lag](results/collecting-lag.json) | ")
    assert lines[3].endswith(" |   |   |")
    assert lines[5:9] == ["```bash", f"{command} overlap", f"{command} lag", "```"]


def test_a_trial_is_shown_with_its_figure_and_command(committed):
    assert "not measured" in rendered("::: collecting overlap")
    runs = [
        {"ratio": ratio, "seed": 1, "sync": 16.0, "async": 8.0}
        for ratio in overlap.RATIOS
    ]
    command = "python -m benchmarks collecting overlap"
    committed("overlap", command=command, demands=[], runs=runs)
    text = rendered("::: collecting overlap")
    figure = f"![{STATEMENT}](results/collecting-overlap.svg)"
    assert text.startswith(f"{figure}\n\n| collecting : learning |")
    assert "| 1:4 " in text
    assert text.endswith(
        "[Every number](results/collecting-overlap.json) is from"
        f" `{command}`, on 2 cores of A CPU."
    )
    text = rendered("::: collecting overlap", "algorithms/ppo.md")
    assert "](../results/collecting-overlap.svg)" in text
    assert "](../results/collecting-overlap.json)" in text
