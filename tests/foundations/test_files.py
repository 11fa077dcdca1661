"""Config files of every kind say the same, and what is wrong is named."""

import os
from pathlib import Path

import pytest

from yieldrl.cli import presets
from yieldrl.foundations.files import SUFFIXES, read_file, write_whole

VALUES = {"trainer": {"seed": 3, "learning_rate": 3e-4}, "loggers": ["csv", "jsonl"]}
TEXTS = {
    ".json": """// A comment,
{
  "trainer": {"seed": 3, /* another */ "learning_rate": 3e-4},  // and a third
  "loggers": ["csv", "jsonl"],
}
""",
    ".yaml": "trainer: {seed: 3, learning_rate: 3.0e-4}\nloggers: [csv, jsonl]\n",
    ".toml": 'loggers = ["csv", "jsonl"]\n[trainer]\nseed = 3\nlearning_rate = 3e-4\n',
}
TEXTS[".yml"] = TEXTS[".yaml"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_says_the_same(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_text(TEXTS[suffix])
    assert read_file(path) == VALUES


def test_a_comment_mark_within_a_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"url": "http://x//y", "b": "/* c */"} // end')
    assert read_file(path) == {"url": "http://x//y", "b": "/* c */"}


@pytest.mark.parametrize(
    ("suffix", "text", "message"),
    [
        (".json", '{"a": 1,\n "b" 2}', r'<string>:2 Unexpected "2" at column'),
        (".toml", "a = \n", r"Invalid value \(at line 1, column 5\)"),
        (".yaml", "a: [", "line 1, column"),
    ],
)
def test_a_mistake_is_shown_where_it_is(
    suffix: str, text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_file(path)
    assert str(error.value).startswith(f"{path}: not a readable config file: ")


def test_the_command_line_takes_what_can_be_read() -> None:
    assert presets.SUFFIXES == SUFFIXES


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_byte_order_mark_is_no_part_of_the_text(
    ends: str, suffix: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / f"run{suffix}"
    path.write_bytes(TEXTS[suffix].replace("\n", ends).encode(encoding))
    assert read_file(path) == VALUES


def test_a_file_of_a_mark_alone_is_empty(tmp_path: Path) -> None:
    for suffix in (".yaml", ".toml"):
        path = tmp_path / f"run{suffix}"
        path.write_bytes(b"\xef\xbb\xbf")
        assert read_file(path) == {}


def test_a_file_is_written_whole_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made" / "policy.onnx"
    assert write_whole(path, b"first") == path

    def interrupted(number: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, b"second")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"first"]
