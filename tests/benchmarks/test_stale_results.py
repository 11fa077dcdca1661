"""Committed results are what their commands would measure today."""

import copy
import dataclasses
import re
from typing import Any

import pytest

from yieldrl.benchmarks import results, stale_results
from yieldrl.benchmarks.tasks import TASKS

NAMES = sorted(path.stem for path in results.FOLDER.glob("*.json"))


def committed(name: str) -> dict[str, Any]:
    return results.load(results.FOLDER / f"{name}.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_result_is_that_of_its_source(name: str) -> None:
    assert stale_results.differences(name, committed(name)) == []


CHANGES = [
    ("ppo-cartpole", {"command": "python -m benchmarks learn ppo-cartpole"}, "unknown"),
    (
        "ppo-cartpole",
        {"command": "python -m benchmarks learning ppo-taxi --seeds 5"},
        r"measures \['ppo-taxi'\], not ppo-cartpole",
    ),
    ("ppo-cartpole", {"seeds": [1, 2, 3]}, "runs 5 seeds, and it has 3"),
    ("ppo-cartpole", {"threshold": 400.0}, "threshold was 400.0"),
    ("dqn-clipping", {"y_label": "height"}, "y_label was 'height'"),
    ("vla-chunks", {"settings": {"gone": 1}}, "settings.gone was 1"),
]


@pytest.mark.parametrize(("name", "change", "said"), CHANGES)
def test_what_has_changed_is_said(name: str, change: Any, said: str) -> None:
    (found,) = stale_results.differences(name, committed(name) | change)
    assert re.search(said, found)


def test_a_default_that_changed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS["ppo-cartpole"]
    other = dataclasses.replace(task, config=task.config | {"clip_coef": 0.3})
    monkeypatch.setitem(TASKS, "ppo-cartpole", other)
    (found,) = stale_results.differences("ppo-cartpole", committed("ppo-cartpole"))
    assert found == "clip_coef was 0.2 when it was measured, and is 0.3"


def test_a_removed_field_may_only_have_had_the_value_that_stayed() -> None:
    result = copy.deepcopy(committed("a2c-cartpole"))
    result["whole_config"]["num_epochs"] = 4
    (found,) = stale_results.differences("a2c-cartpole", result)
    assert found == "num_epochs was 4 when it was measured, and is None"
