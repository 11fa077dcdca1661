"""Blocks of Python say what they take from the blocks above them."""

from __future__ import annotations

import pytest
from site_logic import rendered

from yieldrl.docs._site import DirectiveError, code_blocks


@pytest.mark.parametrize(
    ("code", "free"),
    [
        ("import os\nprint(os.sep)", []),
        ("x = f(x)", ["f", "x"]),
        ("x = 1\ndef double():\n    return x * y", ["y"]),
        ("def later():\n    return z\nz = 2", []),
        ("class A(Base):\n    size = 3\n    half = size / width", ["Base", "width"]),
        ("class A:\n    def go(self):\n        return super().go() + speed", ["speed"]),
        ("print([i * k for i in range(3)])", ["k"]),
        ("for log in trainer():\n    pass\nprint(log)", ["trainer"]),
    ],
)
def test_free_names_are_those_that_a_block_alone_would_lack(code, free):
    assert sorted(code_blocks.free_names(code)) == sorted(free)


def test_a_block_says_what_it_takes():
    page = "```python\n{}\n```\n\nText.\n\n    ```python\n    print(a, b)\n    ```\n"
    shown = rendered(page.format("a, b = 1, 2"))
    assert shown.startswith("```python\na, b")
    assert '    ```python title="takes a and b from above"\n    print' in shown
    with pytest.raises(DirectiveError, match="no block above has b"):
        rendered(page.format("a = 1"))


def test_a_world_needs_the_import_that_registers_it():
    world = '```python\nimport gymnasium\n\ngymnasium.make("yieldrl/Taxi-v1")\n```\n'
    with pytest.raises(DirectiveError, match=r"no block above has yieldrl\.envs"):
        rendered(world)
    imported = "```python\nimport yieldrl.envs\n```\n"
    shown = rendered(imported + world)
    assert 'title="takes yieldrl.envs from above"' in shown


def test_a_file_needs_nothing():
    page = '```python title="mine.py"\nprint(1)\n```\n'
    assert rendered(page) == page
    with pytest.raises(DirectiveError, match="a file needs a from above"):
        rendered("```python\na = 1\n```\n" + page.replace("1", "a"))
