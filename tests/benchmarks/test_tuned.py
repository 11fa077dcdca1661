"""Tuned config files say what they reached, and only what was measured."""

from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import results, tuned
from yieldrl.cli import catalog, listing
from yieldrl.cli import presets as files

FILES = [path for home in catalog.folders().values() for path in files.files(home)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_the_first_line_equals_the_committed_result(path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    assert first.startswith("# "), "a tuned file begins with a comment"
    wanted = tuned.lines().get(path.resolve())
    if wanted is None:
        assert not first.startswith(tuned.START), "no result says so"
    else:
        assert first == wanted, "run: python -m benchmarks plot"
        assert listing.reached(path) != "no result yet"


@pytest.fixture
def result() -> dict[str, Any]:
    finals = [{"final": {"episode_return": value}} for value in (-170.0, -180.0)]
    return {
        "kind": "learning",
        "algorithm": "ppo",
        "tuned": "pendulum",
        "config": {},
        "whole_config": {"total_steps": 100_000},
        "runs": finals,
    }


def saved(result: dict[str, Any], folder: Path) -> Path:
    path = folder / "ppo-pendulum-tuned.json"
    path.write_text(results.json.dumps(result))
    return path


@pytest.mark.parametrize("config", [{}, {"compile": True}])
def test_the_line_has_mean_and_standard_deviation_over_seeds(
    config: dict[str, Any], result: dict[str, Any], tmp_path: Path
) -> None:
    path = saved(result | {"config": config}, tmp_path)
    assert tuned.lines(tmp_path) == {
        results.ROOT / "algorithms/ppo/configs/pendulum.yaml": (
            "# Reached: -175 +- 7.1 over 2 seeds, 100000 steps"
            f" (benchmarks/results/{path.name})."
        )
    }


def test_large_numbers_are_written_out(result: dict[str, Any], tmp_path: Path) -> None:
    result["runs"] = [{"final": {"episode_return": value}} for value in (1000, 2131)]
    (line,) = tuned.lines(saved(result, tmp_path).parent).values()
    assert line.startswith("# Reached: 1566 +- 800 over 2 seeds")


@pytest.mark.parametrize(
    "change",
    [
        {"tuned": None},
        {"config": {"gamma": 0.8, "compile": True}},
        {"tuned": "a2c/pendulum"},
    ],
)
def test_a_result_of_something_else_is_no_result_of_the_file(
    change: dict[str, Any], result: dict[str, Any], tmp_path: Path
) -> None:
    saved(result | change, tmp_path)
    assert tuned.lines(tmp_path) == {}


def test_a_line_is_written_once_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.yaml"
    path.write_text("# Why.\ngamma: 0.9\n")
    for line in ("# Reached: 1.", "# Reached: 2.", "# Reached: 2."):
        changed = list(tuned.note_all({path: line}))
        assert path.read_text() == f"{line}\n# Why.\ngamma: 0.9\n"
    assert changed == []
