"""Text files: whole lines, atomic replacement, going back in time."""

from pathlib import Path

import pytest

from yieldrl.loggers import files

HEADER = "name,step"


def parse(line: str) -> tuple[int, int]:
    name, step = line.split(",")
    return int(step), len(name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs"


def test_append_writes_the_header_once(path: Path) -> None:
    path = path / "new folder" / "file"
    files.append(path, "a,1\n", "head\n")
    files.append(path, "b,2\n", "head\n")
    assert path.read_text() == "head\na,1\nb,2\n"


def test_append_survives_that_the_folder_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "run" / "file"
    files.append(path, "a,1\n", "head\n")
    path.unlink()
    path.parent.rmdir()
    files.append(path, "b,2\n", "head\n")
    assert path.read_text() == "head\nb,2\n"


def test_write_atomically_leaves_nothing_else(path: Path) -> None:
    for text in ("one", "two"):
        files.write_atomically(path, text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_rewind_without_a_file_does_nothing(path: Path) -> None:
    files.rewind(path, (5, 5), parse, HEADER)
    assert not path.exists()


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


@pytest.mark.parametrize("torn", ["b", "b,", "b,2", "é"])
def test_rewind_drops_a_torn_line(path: Path, torn: str) -> None:
    whole = "name,step\na,1\n"
    path.write_bytes((whole + torn).encode()[: len(whole) + 2])
    files.rewind(path, (5, 5), parse, HEADER)
    assert path.read_text() == whole


def test_rewind_drops_half_a_character(path: Path) -> None:
    path.write_bytes("name,step\né,1\né".encode()[:-1])
    files.rewind(path, (5, 5), parse, HEADER)
    assert path.read_text("utf-8") == "name,step\né,1\n"


@pytest.mark.parametrize("torn", ["", "na", "name,step"])
def test_rewind_drops_a_torn_header(path: Path, torn: str) -> None:
    path.write_text(torn)
    files.rewind(path, (5, 5), parse, HEADER)
    assert path.read_text() == ""
    files.append(path, "a,1\n", HEADER + "\n")
    assert path.read_text() == "name,step\na,1\n"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("precious", "line 1: 'precious'"),
        ("precious\nnotes\n", "line 1: 'precious'"),
        ("name,step\na,1\nnotes\n", "line 3: 'notes'"),
        ("name,step\na,b\n", "line 2: 'a,b'"),
    ],
)
def test_rewind_refuses_another_file(path: Path, text: str, where: str) -> None:
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{where} is not a row.*another path"):
        files.rewind(path, (0, 0), parse, HEADER)
    assert path.read_text() == text


def test_rewind_without_a_header(path: Path) -> None:
    path.write_text("a,1\nb,9\nc,")
    files.rewind(path, (5, 5), parse)
    assert path.read_text() == "a,1\n"
