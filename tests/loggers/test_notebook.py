"""Finding out whether this is a notebook."""

import sys
import types

import pytest

from yieldrl.loggers.notebook import in_notebook


def test_a_notebook_has_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, answer in (
        (None, False),
        (object(), False),
        (types.SimpleNamespace(kernel=1), True),
    ):
        ipython = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert in_notebook() is answer
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()
    assert "IPython" not in sys.modules
