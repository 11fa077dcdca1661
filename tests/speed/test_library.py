"""What was compiled is found again, here and on machines like this one."""

import os
import time

import pytest
import torch

from yieldrl.speed import library


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(library.FOLDER, str(tmp_path))
    return tmp_path


def test_where_the_variable_says(folder):
    assert library.path_of("a").parent == folder / "compiled"


def test_a_place_for_each_graph_machine_and_number_of_threads(monkeypatch):
    place = library.path_of("a")
    assert place == library.path_of("a") != library.path_of("b")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    assert library.path_of("a") != place
    monkeypatch.undo()
    monkeypatch.setattr(library, "machine", lambda: "another")
    assert library.path_of("a").name != place.name


def test_what_was_noted_is_known():
    assert not library.knows("a step")
    library.note("a step")
    assert library.knows("a step")
    assert not library.knows("another step")


def test_what_was_not_used_for_longest_goes(monkeypatch):
    monkeypatch.setattr(library, "MOST_FILES", 2)
    paths = [library.path_of(key) for key in "abc"]
    paths[0].parent.mkdir()
    for age, path in enumerate(paths):
        path.touch()
        os.utime(path, (time.time() - 100 + age, 0))
    library.used(paths[0])
    library.tidy()
    assert [path.exists() for path in paths] == [True, False, True]
