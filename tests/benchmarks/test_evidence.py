"""Every claim that is judged seed by seed held as its committed result says."""

from __future__ import annotations

import importlib
from pathlib import Path

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claims import evidence
from yieldrl.benchmarks.evidence import Claim

FOLDER = Path(str(evidence.__file__)).parent
MODULES = [path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"]


def claims() -> list[Claim]:
    names = (f"{evidence.__name__}.{name}" for name in MODULES)
    modules = (importlib.import_module(name) for name in names)
    return [claim for module in modules for claim in getattr(module, "CLAIMS", [])]


def test_claims_hold_where_their_results_say_so() -> None:
    for claim in claims():
        result = results.load(results.FOLDER / f"{claim.name}.json")
        for run in result["runs"]:
            assert claim.holds(run["numbers"] | run["series"]) == run["holds"]
        assert result["passed"] >= round(claim.share * len(result["runs"]))


def test_every_result_has_its_claim() -> None:
    found = [results.load(path) for path in results.FOLDER.glob("*.json")]
    kept = {of["claim"] for of in found if of["kind"] == "evidence"}
    assert kept == {claim.name for claim in claims()}
