"""Names of folders: what leaves its place is refused."""

import os

import pytest

from yieldrl.core import Config
from yieldrl.core.files import wrong_name

OUTSIDE = ["..", "../x", "../../x", "a/../..", "a/../b", "a/..", "/x", "//x", "/"]
OUTSIDE += ["/tmp/x/../y"]


def test_a_name_that_leaves_run_root_is_refused(tmp_path):
    for name in OUTSIDE:
        with pytest.raises(ValueError, match=r"Config\.run_name = .*: "):
            Config(run_name=name)
    path = tmp_path / "run.yaml"
    path.write_text("trainer: {run_name: ../../x}\n")
    message = r"run_name = '\.\./\.\./x': a run lies below run_root"
    with pytest.raises(ValueError, match=message):
        Config.from_file(path)


def test_a_name_of_nothing_is_refused():
    refused = dict.fromkeys(("", " ", ".", "./", "\t"), "give a folder name")
    for name, said in refused.items():
        with pytest.raises(ValueError, match=rf"Config\.run_name = .*: .*{said}"):
            Config(run_name=name)


def test_any_other_name_is_a_folder_below_run_root(tmp_path):
    for name in ("a", "a/b", "..a", "a..b", ".a", "seed:1", "Läufe", "a b", "a" * 240):
        assert wrong_name(name) is None
        folder = tmp_path / str(Config(run_name=name).run_name)
        folder.mkdir(parents=True, exist_ok=True)
        assert os.path.commonpath([tmp_path, folder.resolve()]) == str(tmp_path)
