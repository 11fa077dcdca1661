"""Pictures of notebooks say in words what they show."""

from __future__ import annotations

import json

import pytest
from site_logic import DOCS

from yieldrl.docs._site import DirectiveError
from yieldrl.docs._site.html_output import UNDESCRIBED, described

PICTURE = f'<img alt="{UNDESCRIBED}">'


def cell(*kinds, **metadata):
    outputs = [{"data": {kind: ""}} for kind in kinds]
    return {"source": ["plot()\n"], "metadata": metadata, "outputs": outputs}


def test_pictures_have_the_words_of_their_cells_in_order():
    cells = [
        {"source": "# Text", "metadata": {}},
        cell("image/png", "text/plain", "image/png", alt='a "curve"'),
        cell("text/html"),
        cell("image/png", alt="bars"),
    ]
    shown = described(PICTURE * 3, {"cells": cells})
    curve = '<img alt="a &quot;curve&quot;">'
    assert shown == curve + curve + '<img alt="bars">'


def test_a_picture_without_words_is_an_error():
    with pytest.raises(DirectiveError, match=r"no words: .* for plot\(\)"):
        described(PICTURE, {"cells": [cell("image/png")]})
    with pytest.raises(DirectiveError, match="nor a cell"):
        described(PICTURE, {"cells": []})


@pytest.mark.parametrize("name", ["quickstart", "teacher_student"])
def test_the_notebooks_describe_theirs(name):
    path = DOCS.parent / "notebooks" / f"{name}.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    shown = described(PICTURE, notebook)
    assert UNDESCRIBED not in shown
    assert shown != PICTURE
