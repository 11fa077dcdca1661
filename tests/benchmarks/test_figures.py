"""Scripts of figures: what is kept is what they say, and they run."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import figure, figures, results, subprocesses
from yieldrl.benchmarks.figures import memories, munchausen

SCRIPTS = {
    name: importlib.import_module(f"{figures.__name__}.{name}")
    for _, name, _ in pkgutil.iter_modules(figures.__path__)
}
KEPT = {
    path.stem: result
    for path in sorted(results.FOLDER.glob("*.json"))
    if (result := results.load(path))["kind"] == "figure"
}


def test_every_figure_has_a_script_that_gives_its_table() -> None:
    said = {name: of for script in SCRIPTS.values() for name, of in script.SAYS.items()}
    assert said.keys() == KEPT.keys()
    for name, result in KEPT.items():
        _, _, module, *words = result["command"].split()
        script = SCRIPTS[module.rpartition(".")[2]]
        options = figure.parser(*script.SAYS).parse_args(words)
        assert options.name == name
        assert result["seeds"] == list(range(1, options.seeds + 1))
        header, rows = getattr(script, "table", figure.numbers)(result["runs"])
        assert {"header": header, "rows": rows} == result["table"], name
        assert result["says"] == said[name]


def test_a_script_measures_and_keeps_its_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cases: list[Any] = []

    def each(measure: Any, todo: list[dict[str, Any]], jobs: int) -> list[Any]:
        cases.extend([*todo, jobs])
        return [measure(**case, updates=150) for case in todo]

    monkeypatch.setattr(subprocesses, "each", each)
    monkeypatch.setattr(subprocesses, "script", lambda: "benchmarks.figures.memories")
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    name = "dueling_dqn-actions"
    words = [name, "--seeds", "1", "--jobs", "3", "--keep"]
    monkeypatch.setattr(sys, "argv", ["memories", *words])
    figure.main(memories.SAYS, memories.measure)
    assert cases == [{"seed": 1, "name": name}, 3]
    result = results.load(tmp_path / f"{name}.json")
    command = f"python -m benchmarks.figures.memories {name} --seeds 1 --jobs 3"
    assert (result["command"], result["kind"]) == (command, "figure")
    assert result["algorithm"] == "dueling_dqn"
    assert [point[0] for point in result["runs"][0]["series"]["dqn"]] == [50, 100, 150]
    assert (tmp_path / f"{name}.svg").read_text("utf-8").startswith("<?xml")
    monkeypatch.setattr(sys, "argv", ["memories", name, "--again"])
    figure.main(memories.SAYS, memories.measure)
    assert results.load(tmp_path / f"{name}.json") == result


def test_both_sides_of_a_comparison_train() -> None:
    run = munchausen.measure(1, total_steps=1_000, eval_every=500)
    assert run["curves"].keys() == run["scores"].keys() == munchausen.SIDES.keys()
    assert all(
        [step for step, _ in of] == [500, 1_000] for of in run["curves"].values()
    )
    assert munchausen.decision(0.1, 2.0) == "better"
    assert munchausen.decision(-2.0, -0.1) == "worse"
    assert munchausen.decision(-1.0, 1.0) == "not decided"
