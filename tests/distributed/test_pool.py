"""What workers are given: also code that they could not import."""

import pickle
import sys

from yieldrl.distributed.recipes import pickled


def test_a_module_may_be_there_by_two_names(tmp_path, monkeypatch):
    """As the program's is in processes that `multiprocessing` has spawned."""
    (tmp_path / "of_mine.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import of_mine

    monkeypatch.setitem(sys.modules, "also_mine", of_mine)
    value = pickled(of_mine.answer)
    monkeypatch.delitem(sys.modules, "of_mine")
    monkeypatch.delitem(sys.modules, "also_mine")
    assert pickle.loads(value)() == 42
