"""Result files say where their numbers come from, and pages show what is in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import page, results

COMMITTED = sorted(results.FOLDER.glob("*.json"))


@pytest.fixture
def result() -> dict[str, Any]:
    return results.circumstances("time", "python -m benchmarks time ppo", [1, 2])


def test_a_result_is_read_back_as_it_was_saved(
    result: dict[str, Any], tmp_path: Path
) -> None:
    runs = [{"seed": seed, "curve": [{"sample_step": 1}] * 3} for seed in (1, 2)]
    whole = result | {"reference": result | {"runs": runs}}
    assert results.load(results.save(whole, tmp_path / "new" / "speed.json")) == whole


@pytest.mark.parametrize("name", ["command", "revision", "hardware", "seeds"])
def test_an_incomplete_result_is_refused(
    name: str, result: dict[str, Any], tmp_path: Path
) -> None:
    for wrong in ({name: None}, {"reference": result | {name: None}}):
        with pytest.raises(ValueError, match=name):
            results.save(result | wrong, tmp_path / "speed.json")
    assert not list(tmp_path.iterdir())


def test_what_pages_show_follows_from_what_was_measured() -> None:
    assert len(COMMITTED) > 50
    for path in COMMITTED:
        result = results.load(path)
        results.check(result)
        shown = json.loads(json.dumps(page.entries(path.stem, result)))
        assert {name: result.get(name) for name in shown} == shown, path.name
