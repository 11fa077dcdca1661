"""Text files: whole rows, atomic replacement, cut back after a resume."""

import pickle
from pathlib import Path

import pytest

from yieldrl import loggers
from yieldrl.loggers import files
from yieldrl.loggers.files import WriteError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "logs"


def test_append_writes_the_header_once_also_after_the_folder_is_deleted(path):
    path = path / "new folder" / "file"
    for _ in range(2):
        files.append(path, b"a,1\n", b"head\n")
        files.append(path, b"b,2\n", b"head\n")
        assert path.read_text() == "head\na,1\nb,2\n"
        path.unlink()
        path.parent.rmdir()


def test_write_atomically_leaves_nothing_else(path):
    for text in ("one", "two"):
        files.write_atomically(path, text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_where_there_is_no_room_the_file_stays_as_it_was(path, small_disk):
    files.append(path, b"a" * 60 + b"\n")
    with pytest.raises(WriteError) as caught, small_disk(100):
        files.append(path, b"b" * 60 + b"\n")
    assert path.read_bytes() == b"a" * 60 + b"\n"
    message = str(caught.value)
    assert message.startswith(f"{path}: could not be written (File too large)")
    assert "Make room or choose another path, then go on" in message
    with pytest.raises(WriteError), small_disk(100):
        files.write_atomically(path, "c" * 200)
    assert path.read_bytes() == b"a" * 60 + b"\n"
    assert list(path.parent.iterdir()) == [path]
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


@pytest.mark.parametrize(
    ("logger", "name", "there"),
    [
        (loggers.csv(), "logs.csv", Path.mkdir),
        (loggers.tensorboard(), "tensorboard", Path.touch),
        (loggers.checkpoint(), "checkpoints", Path.touch),
    ],
)
def test_what_is_in_the_way_is_named_and_left(logger, name, there, trainer):
    path = trainer.run.folder / name
    there(path)
    with pytest.raises(OSError, match=name):
        list(logger(trainer)())
    assert path.exists()
