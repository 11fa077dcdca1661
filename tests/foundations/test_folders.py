"""Names of folders: what leaves its place, or no file system can hold, is refused."""

import os
from pathlib import Path

import pytest

from yieldrl.foundations import Config
from yieldrl.foundations.files import wrong_name


@pytest.mark.parametrize(
    "name",
    [
        *("..", "../x", "../../x", "a/../..", "a/../b", "a/..", "..\\x", "a\\..\\x"),
        *("/x", "//x", "/", "/tmp/x/../y", "\\x", "\\\\server\\share\\x"),
        *("C:", "C:x", "C:/x", "C:\\x", "c:../x"),
    ],
)
def test_a_name_that_leaves_run_root_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^Config\.run_name = .*: "):
        Config(run_name=name)


@pytest.mark.parametrize("block", ["trainer", "algorithm"])
def test_it_is_refused_in_a_file_too(block: str, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        f"{block}: {{name: ppo, run_name: ../../x}}\n".replace(
            "name: ppo, ", "" if block == "trainer" else "name: ppo, "
        )
    )
    message = rf"block '{block}': run_name = '\.\./\.\./x': a run lies below run_root"
    with pytest.raises(ValueError, match=message):
        Config.from_file(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *(
            (name, "for a device")
            for name in ("con", "NUL", "aux.txt", "a/COM1", "lpt9")
        ),
        *((name, "Windows leaves out") for name in ("a.", "a ", "a. /b", "...")),
        *((name, "give a folder name") for name in ("", " ", ".", "./", "\t")),
        ("a" * 241, "at most 240 bytes"),
        ("a" * 256, "at most 255 bytes"),
        ("ä" * 121, "at most 240 bytes"),
        ("a\0b", "none of them zero"),
        ("\ud800", "valid Unicode"),
    ],
)
def test_a_name_that_some_system_cannot_hold_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^Config\.run_name = .*: .*{said}"):
        Config(run_name=name)


@pytest.mark.parametrize(
    "name", ["a", "a/b", "..a", "a..b", ".a", "seed:1", "Läufe", "a b", "a" * 240]
)
def test_any_other_name_is_a_folder_below_run_root(name: str, tmp_path: Path) -> None:
    assert wrong_name(name) is None
    folder = tmp_path / str(Config(run_name=name).run_name)
    folder.mkdir(parents=True)
    assert os.path.commonpath([tmp_path, folder.resolve()]) == str(tmp_path)
