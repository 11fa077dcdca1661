"""Pictures of notebooks say in words what they show."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError
from site_logic import DOCS, load

descriptions = load("descriptions")
PICTURE = f'<img alt="{descriptions.WITHOUT}">'


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
    shown = descriptions.described(PICTURE * 3, {"cells": cells})
    curve = '<img alt="a &quot;curve&quot;">'
    assert shown == curve + curve + '<img alt="bars">'


def test_a_picture_without_words_is_an_error():
    with pytest.raises(PluginError, match=r"no words: .* for plot\(\)"):
        descriptions.described(PICTURE, {"cells": [cell("image/png")]})
    with pytest.raises(PluginError, match="nor a cell"):
        descriptions.described(PICTURE, {"cells": []})


@pytest.mark.parametrize("name", ["quickstart", "teacher_student"])
def test_the_notebooks_describe_theirs(name):
    path = DOCS.parent / "notebooks" / f"{name}.ipynb"
    file = SimpleNamespace(src_uri=path.name, abs_src_path=str(path))
    page = SimpleNamespace(file=file)
    shown = descriptions.on_page_content(PICTURE, page=page)
    assert descriptions.WITHOUT not in shown
    assert shown != PICTURE
