"""Finding out whether this is a notebook."""

import sys
import types

import pytest

from yieldrl.loggers.notebook import in_notebook


@pytest.mark.parametrize(
    ("shell", "answer"),
    [(None, False), (object(), False), (types.SimpleNamespace(kernel=1), True)],
)
def test_a_notebook_has_a_kernel(
    monkeypatch: pytest.MonkeyPatch, shell: object, answer: bool
) -> None:
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert in_notebook() is answer


def test_without_ipython_it_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    assert "IPython" not in sys.modules
