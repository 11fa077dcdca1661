"""Every claim held as its committed result says, and so does its table."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from yieldrl.benchmarks import claims, results
from yieldrl.benchmarks.evidence import Claim
from yieldrl.benchmarks.trial import Trial

FOLDER = Path(str(claims.__file__)).parent


def every_claim() -> list[Claim | Trial]:
    paths = [path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.py")]
    scripts = [".".join(path.parts) for path in paths if path.name != "__init__"]
    modules = [importlib.import_module(f"{claims.__name__}.{of}") for of in scripts]
    return [claim for module in modules for claim in getattr(module, "CLAIMS", [])]


def test_claims_hold_where_their_results_say_so() -> None:
    for claim in every_claim():
        result = results.load(results.FOLDER / f"{claim.name}.json")
        if isinstance(claim, Claim):
            for run in result["runs"]:
                assert claim.holds(run["numbers"] | run["series"]) == run["holds"]
            assert result["passed"] >= round(claim.share * len(result["runs"]))
            continue
        header, rows = claim.table(result["runs"])
        assert {"header": header, "rows": rows} == result["table"], claim.name
        for found, kept in zip(
            claim.judge(result["runs"]), result["demands"], strict=True
        ):
            assert found == kept | {"value": pytest.approx(kept["value"])}, claim.name


def test_every_result_has_its_claim() -> None:
    found = [results.load(path) for path in results.FOLDER.glob("*.json")]
    kept = {of["claim"] for of in found if "claim" in of}
    assert kept == {claim.name for claim in every_claim()}
