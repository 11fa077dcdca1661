"""Compiled code is kept where nobody else can write, and is what was written."""

import os
import stat

import pytest

from yieldrl.foundations import compile_cache


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """No folder was chosen in this process; the cache of the machine is a new one."""
    compile_cache.prepare.cache_clear()
    monkeypatch.setattr(compile_cache.atexit, "register", lambda *_, **__: None)
    monkeypatch.delenv(compile_cache.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tmp_path.chmod(0o700)
    yield
    compile_cache.prepare.cache_clear()


def test_it_is_a_private_folder_below_the_cache_of_the_user(tmp_path):
    said = compile_cache.prepare()
    folder = tmp_path / "cache" / "yieldrl" / "torch"
    assert said == f"its code is kept in {folder}"
    assert os.environ[compile_cache.VARIABLE] == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_was_chosen_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path / "mine"))
    assert compile_cache.prepare().endswith(str(tmp_path / "mine"))


def test_pytorch_s_own_default_in_the_shared_temporary_folder_is_not(monkeypatch):
    monkeypatch.setenv(compile_cache.VARIABLE, "/tmp/torchinductor_somebody")
    assert "torchinductor" not in compile_cache.prepare()


@pytest.mark.parametrize("mode", [0o770, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(tmp_path, mode):
    folder = compile_cache.folder()
    folder.mkdir(parents=True)
    folder.chmod(mode)
    said = compile_cache.prepare()
    assert said == (
        f"its code is not kept: {folder} can be written by other users"
    )  # fmt: skip
    assert os.environ[compile_cache.VARIABLE] != str(folder)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root"
)
def test_nor_one_that_belongs_to_another_user():
    folder = compile_cache.folder()
    folder.mkdir(parents=True, mode=0o700)
    os.chown(folder, 12345, -1)
    assert "belongs to another user" in compile_cache.prepare()


def test_without_a_home_folder_code_is_kept_for_this_process(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    said = compile_cache.prepare()
    assert "cannot be written" in said
    assert os.path.isdir(os.environ[compile_cache.VARIABLE])


def test_a_file_that_changed_is_deleted_and_others_stay(tmp_path):
    folder = compile_cache.folder()
    (folder / "ab").mkdir(parents=True, mode=0o700)
    for name in ("one.so", "two.so"):
        (folder / "ab" / name).write_bytes(b"machine code")
    compile_cache.write_checksums()
    (folder / "ab" / "one.so").write_bytes(b"machine c0de")
    (folder / "ab" / "new.so").write_bytes(b"by another process")
    compile_cache.prepare()
    assert sorted(p.name for p in (folder / "ab").iterdir()) == ["new.so", "two.so"]


def test_checksums_that_cannot_be_read_delete_nothing():
    folder = compile_cache.folder()
    folder.mkdir(parents=True, mode=0o700)
    (folder / "one.so").write_bytes(b"machine code")
    for text in ("", "[1]", "{", '{"x": 1}', '"text"'):
        (folder / compile_cache.CHECKSUMS).write_text(text)
        compile_cache.prepare.cache_clear()
        compile_cache.prepare()
        assert (folder / "one.so").exists()


def test_notes_are_read_as_they_were_written():
    note = {"acting": [0.5, 2.0], "step": "Data-dependent branching"}
    compile_cache.write_note("a run", note)
    assert READ("a run") == note
    assert READ("another") == {}


READ = compile_cache.read_note  # tests see none of the machine's: see conftest.py
