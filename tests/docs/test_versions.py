"""One version, wherever it is written; and what pages say of what was not measured."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re

import numpy as np
import pytest
import yaml
from site_logic import DOCS

import yieldrl
from yieldrl.benchmarks import results, scores
from yieldrl.cli import catalog
from yieldrl.docs._site import hyperparameters

ROOT = DOCS.parent


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == yieldrl.__version__
    assert citation["authors"] == [{"name": "the yieldrl authors"}]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## ([\d.]+)", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == yieldrl.__version__
    cite = (DOCS / "cite.md").read_text("utf-8")
    assert f"version = {{{yieldrl.__version__}}}" in cite
    assert f"title   = {{{citation['title']}}}" in cite


def test_no_result_is_from_a_gpu_as_long_as_the_pages_say_so():
    assert "No run of ours has been on a GPU." in (DOCS / "gpu.md").read_text("utf-8")
    assert "**A figure on a GPU.**" in (DOCS / "comparison.md").read_text("utf-8")
    for path in results.FOLDER.glob("*.json"):
        hardware = json.loads(path.read_text("utf-8")).get("hardware", {})
        assert "gpu" not in hardware, path


def test_the_comparison_says_what_is_left_open():
    said = " ".join((DOCS / "comparison.md").read_text("utf-8").split())
    assert "ten seeds of each leave it open which PPO is better" in said
    result = results.load(results.FOLDER / "ppo-halfcheetah.json")
    own, other = (
        np.array([run["final"]["episode_return"] for run in of["runs"]])
        for of in (result, result["reference"])
    )
    assert len(own) == len(other) == 10
    _, low, high = scores.difference(own, other)
    assert low < 0 < high


@pytest.mark.parametrize("name", catalog.folders())
def test_all_fields_of_a_config_are_explained_on_its_algorithms_page(name):
    """Those that it inherits, too."""
    page = (DOCS / "algorithms" / f"{name}.md").read_text("utf-8")
    assert f"\n## Hyperparameters\n\n::: hyperparameters of {name}\n" in page
    shown = hyperparameters.tables(name)
    rows = dict(
        re.findall(r"^    \| `(\w+)` \| `.*?` \| (.*) \|$", shown, re.MULTILINE)
    )
    trainer = importlib.import_module(f"{catalog.PACKAGE}.{name}").Trainer
    fields = [field.name for field in dataclasses.fields(trainer.config_class)]
    assert sorted(rows) == sorted(fields)
    assert all(len(text) > 20 for text in rows.values()), rows
