"""The site's own style sheets are whole: a rule left open swallows all that follow."""

import re
from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
SHEETS = [path for path in ASSETS.rglob("*.css") if "katex" not in path.parts]


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.name)
def test_every_rule_is_closed(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
    depth = begun = 0
    for number, line in enumerate(text.splitlines(), 1):
        assert depth < 2 or line.startswith(" "), f"a rule is open before line {number}"
        depth += line.count("{") - line.count("}")
        if depth == 1 and line.endswith("{") and not line.startswith("@"):
            begun = number
        assert depth >= 0, f"line {number} closes what was not open"
    assert depth == 0, f"the rule of line {begun} is open"


def test_there_are_some():
    assert len(SHEETS) >= 3
