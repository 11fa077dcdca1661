"""Text files: whole lines, atomic replacement, going back in time."""

import errno
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from yieldrl import loggers
from yieldrl.loggers import files
from yieldrl.loggers.write_errors import (
    DiskFullError,
    UnwritableError,
    refuse_file,
)

HEADER = "name,step"


def parse(line: str) -> tuple[int, int]:
    name, step = line.split(",")
    return int(step), len(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs"


def test_append_writes_the_header_once(path: Path) -> None:
    path = path / "new folder" / "file"
    files.append(path, b"a,1\n", b"head\n")
    files.append(path, b"b,2\n", b"head\n")
    assert path.read_text() == "head\na,1\nb,2\n"


def test_append_survives_that_the_folder_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "run" / "file"
    files.append(path, b"a,1\n", b"head\n")
    path.unlink()
    path.parent.rmdir()
    files.append(path, b"b,2\n", b"head\n")
    assert path.read_text() == "head\nb,2\n"


def test_write_atomically_leaves_nothing_else(path: Path) -> None:
    for text in ("one", "two"):
        files.write_atomically(path, text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_rewind_leaves_a_good_file_alone(path: Path) -> None:
    path.write_text("name,step\na,1\nb,5\n")
    before = path.stat()
    files.rewind(path, (5, 1), parse, HEADER)
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("now", "kept"),
    [((9, 9), "a,1\nbb,5\nc,9\n"), ((5, 9), "a,1\nbb,5\n"), ((9, 1), "a,1\nc,9\n")],
)
def test_rewind_drops_what_lies_beyond(
    path: Path, now: tuple[int, int], kept: str
) -> None:
    text = "name,step\na,1\nbb,5\nc,9\nd,10\n"
    path.write_text(text)
    files.rewind(path, now, parse, HEADER)
    assert path.read_text() == "name,step\n" + kept
    assert path.with_name("logs.bak").read_text() == text


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (14, ["a,1"]),  # after the first row
        (15, ["a,1", "b,5", "c,5"]),  # within a line: a file that was changed since
    ],
)
def test_rewind_drops_what_follows_an_end(
    path: Path, end: int, kept: list[str]
) -> None:
    path.write_text("name,step\na,1\nb,5\nc,5\n")
    files.rewind(path, (5, 1), parse, HEADER, end)
    assert path.read_text().splitlines() == [HEADER, *kept]
    assert list(path.parent.iterdir()) == [path]  # nothing of later steps was dropped


def test_rewind_drops_a_torn_line(path: Path) -> None:
    whole = "name,step\né,1\n".encode()
    for torn in (b"b", b"b,", b"b,2", "é".encode()[:1]):
        path.write_bytes(whole + torn)
        files.rewind(path, (5, 5), parse, HEADER)
        assert path.read_bytes() == whole


def test_a_table_that_a_spreadsheet_saved_is_gone_on_with(path: Path) -> None:
    """With a byte order mark at its beginning, and Windows' line ends."""
    path.write_bytes(b"\xef\xbb\xbfname,step\r\na,1\r\nb,9\r\n")
    files.rewind(path, (5, 5), parse, HEADER)
    assert path.read_bytes() == b"name,step\na,1\n"


def test_rewind_drops_a_torn_header(path: Path) -> None:
    for torn in ("", "na", "name,step"):
        path.write_text(torn)
        files.rewind(path, (5, 5), parse, HEADER)
        assert path.read_text() == ""
        files.append(path, b"a,1\n", HEADER.encode() + b"\n")
        assert path.read_text() == "name,step\na,1\n"


def test_rewind_refuses_another_file(path: Path) -> None:
    for text, where in (
        ("precious", "line 1: 'precious'"),
        ("name,step\na,1\nnotes\n", "line 3: 'notes'"),
        ("name,step\na,b\n", "line 2: 'a,b'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{where} is not a row.*another path"):
            files.rewind(path, (0, 0), parse, HEADER)
        assert path.read_text() == text


def test_rewind_without_a_header(path: Path) -> None:
    path.write_text("a,1\nb,9\nc,")
    files.rewind(path, (5, 5), parse)
    assert path.read_text() == "a,1\n"


@contextmanager
def little_room() -> Iterator[None]:
    """No file of this process may grow beyond 100 bytes, its output included."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_where_there_is_no_room_the_file_stays_as_it_was(path: Path) -> None:
    files.append(path, b"a" * 60 + b"\n")
    with pytest.raises(DiskFullError) as caught, little_room():
        files.append(path, b"b" * 60 + b"\n")
    assert path.read_bytes() == b"a" * 60 + b"\n"
    message = str(caught.value)
    assert message.startswith(f"{path}: no room to write this file (")
    assert "Make room, then go on" in message
    with pytest.raises(DiskFullError), little_room():
        files.write_atomically(path, "c" * 200)
    assert path.read_bytes() == b"a" * 60 + b"\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_where_a_file_goes_is_named(path: Path) -> None:
    path.mkdir()
    message = "logs: cannot be written .*There is a folder where this file goes: move"
    for write in (
        lambda: files.append(path, b"a\n"),
        lambda: files.write_atomically(path, "a"),
        lambda: files.rewind(path, (5, 5), parse, HEADER),
    ):
        with pytest.raises(UnwritableError, match=message):
            write()
    assert list(path.parent.iterdir()) == [path]


def test_a_file_where_a_folder_goes_is_named(path: Path) -> None:
    path.touch()
    message = "logs: cannot be written .*There is a file where a folder goes: move it"
    for write in (
        lambda: files.append(path / "file", b"a\n"),
        lambda: files.write_atomically(path / "file", "a"),
        lambda: refuse_file(path),
        lambda: refuse_file(path / "below" / "it"),
    ):
        with pytest.raises(UnwritableError, match=message):
            write()
    refuse_file(path.parent)
    refuse_file(path.parent / "new")


def test_an_error_survives_a_process(path: Path) -> None:
    for kind in (DiskFullError, UnwritableError):
        error = kind(path, errno.EISDIR, "Is a directory")
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("logger", "name", "there"),
    [
        (loggers.csv(), "logs.csv", Path.mkdir),
        (loggers.tensorboard(), "tensorboard", Path.touch),
        (loggers.checkpoint(), "checkpoints/checkpoints.json", Path.mkdir),
        (loggers.checkpoint(), "checkpoints/best.pt", Path.mkdir),
    ],
)
def test_what_is_in_the_way_is_said_before_the_first_step(
    logger: Any, name: str, there: Callable[[Path], None], trainer: Any
) -> None:
    path = trainer.run_dir / name
    path.parent.mkdir(parents=True, exist_ok=True)
    there(path)
    with pytest.raises(UnwritableError, match=rf"{name}: cannot be written"):
        next(logger(trainer)())
    assert trainer.agent.sample_step <= 2  # of one step, which is not logged
    assert path.exists()
