"""One version, wherever it is written, and every field of a config on its page."""

from __future__ import annotations

import dataclasses
import importlib
import re

import pytest
import yaml

import yieldrl
from yieldrl.cli import catalog
from yieldrl.docs._site import algorithms, render
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
    cite = (DOCS / "changelog.md").read_text("utf-8")
    assert f"version = {{{yieldrl.__version__}}}" in cite
    assert f"title   = {{{citation['title']}}}" in cite


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.folders())
def test_all_fields_of_a_config_are_explained_on_its_algorithms_page(name):
    """Those that it inherits, too; in a section of its parent's page, its own alone."""
    member = next(member for member in catalog.members() if member.name == name)
    page, _, section = algorithms.page(member).partition("#")
    text = (DOCS / "algorithms" / page).read_text("utf-8")
    config = importlib.import_module(f"{catalog.PACKAGE}.{name}").Trainer.config_class
    fields = [field.name for field in dataclasses.fields(config)]
    table = f'{{{{ hyperparameters("{name}") }}}}'
    if section:
        fields = [field for field in fields if field in vars(config)["__annotations__"]]
        fields = fields if "Config" in member.changed else []
        found = re.findall(rf'\{{\{{ hyperparameters\("{name}", ".*?"\) }}}}', text)
        table = "".join(found)
    else:
        assert f"\n## Hyperparameters\n\n{table}\n" in text
    shown = render("page.md", table)
    rows = dict(re.findall(r"^ *\| `(\w+)` \| `.*?` \| (.*) \|$", shown, re.MULTILINE))
    assert sorted(rows) == sorted(fields)
    assert all(len(text) > 20 for text in rows.values()), rows


def test_pages_name_every_algorithm():
    for index in ("algorithms", "reference"):
        text = render(
            f"{index}/index.md", (DOCS / index / "index.md").read_text("utf-8")
        )
        for member in catalog.members():
            own = (
                f"{member.name}.md" if index == "reference" else algorithms.page(member)
            )
            assert f"]({own})" in text, own
