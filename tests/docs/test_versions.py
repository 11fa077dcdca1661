"""One version, wherever it is written, and every field of a config on its page."""

from __future__ import annotations

import dataclasses
import importlib
import re

import pytest
import yaml

import yieldrl
from yieldrl.cli import catalog
from yieldrl.docs._site import render
from yieldrl.docs._site.markdown import DOCS

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


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.folders())
def test_all_fields_of_a_config_are_explained_on_its_algorithms_page(name):
    """Those that it inherits, too."""
    page = (DOCS / "algorithms" / f"{name}.md").read_text("utf-8")
    table = f'{{{{ hyperparameters("{name}") }}}}'
    assert f"\n## Hyperparameters\n\n{table}\n" in page
    shown = render("page.md", table)
    rows = dict(
        re.findall(r"^    \| `(\w+)` \| `.*?` \| (.*) \|$", shown, re.MULTILINE)
    )
    trainer = importlib.import_module(f"{catalog.PACKAGE}.{name}").Trainer
    fields = [field.name for field in dataclasses.fields(trainer.config_class)]
    assert sorted(rows) == sorted(fields)
    assert all(len(text) > 20 for text in rows.values()), rows
