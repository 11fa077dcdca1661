"""Result files say where their numbers come from, and pages show what is in them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from yieldrl.benchmarks import learning, results
from yieldrl.benchmarks.env_throughput import measuring
from yieldrl.benchmarks.peers import measuring as peers
from yieldrl.benchmarks.tasks import FIGURES

COMMITTED = {path.stem: path for path in sorted(results.FOLDER.glob("*.json"))}
ENTRIES = {"learning": learning, "worlds": measuring, "peers": peers}
SAID = ("kind", "command", "date", "revision", "hardware", "versions", "seeds")
NOTED = re.compile(r"# Reached: (\S+) .* \(docs/results/([\w-]+)\.json\)\.")


@pytest.fixture
def result() -> dict[str, Any]:
    return results.circumstances("figure", "python -m benchmarks.figures.lag", [1, 2])


def test_a_result_is_read_back_as_it_was_saved(
    result: dict[str, Any], tmp_path: Path
) -> None:
    runs = [{"seed": seed, "curve": [{"sample_step": 1}] * 3} for seed in (1, 2)]
    whole = result | {"reference": result | {"runs": runs}, "runs": runs}
    assert results.load(results.save(whole, tmp_path / "new" / "speed.json")) == whole


def test_what_pages_show_follows_from_what_was_measured() -> None:
    for name, path in COMMITTED.items():
        result = results.load(path)
        for side in (result, result.get("reference", result)):
            assert all(side[entry] for entry in SAID), name
        if result["kind"] in ENTRIES:
            entries = ENTRIES[result["kind"]].entries(name, result)
            shown = json.loads(json.dumps(entries))
            assert {key: result.get(key) for key in shown} == shown, name


def test_every_revision_is_in_the_repository() -> None:
    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", *words]
        return subprocess.run(command, cwd=results.ROOT, capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip(
            "a shallow clone has no history to look into: git fetch --unshallow"
        )
    for name, path in COMMITTED.items():
        result = results.load(path)
        for side in (result, result.get("reference", result)):
            known = git("cat-file", "-e", f"{side['revision']}^{{commit}}")
            assert known.returncode == 0, name


def test_pages_and_tuned_files_name_results_that_are_there() -> None:
    drawn = {path.stem for path in results.FOLDER.glob("*.svg")}
    assert drawn <= COMMITTED.keys() | FIGURES.keys()
    for page in (results.ROOT / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        assert {*re.findall(r"results/([\w-]+)\.json", text)} <= COMMITTED.keys(), page
        assert {*re.findall(r"results/([\w-]+)\.svg", text)} <= drawn, page
        named = re.findall(r'{{ (?:result|said)\("([\w-]+)"\) }}', text)
        assert {*named} <= COMMITTED.keys(), page
    for path in (results.ROOT / "algorithms").glob("*/configs/*.yaml"):
        for mean, name in NOTED.findall(path.read_text("utf-8")):
            returns = learning.final_returns(results.load(COMMITTED[name])["runs"])
            assert mean == f"{sum(returns) / len(returns):.4g}", path
