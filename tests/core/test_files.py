"""Config files of every kind say the same, and what is wrong is named."""

import json
import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from yieldrl.core.files import (
    SUFFIXES,
    YamlLoader,
    read_file,
    to_yaml,
    write_whole,
)

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
def test_every_kind_of_file_says_the_same(suffix, tmp_path):
    """Also with a byte order mark, and with the line ends of Windows."""
    path = tmp_path / f"run{suffix}"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        for ends in ("\n", "\r\n"):
            path.write_bytes(TEXTS[suffix].replace("\n", ends).encode(encoding))
            assert read_file(path) == VALUES
    path.write_bytes(b"\xef\xbb\xbf")
    assert suffix == ".json" or read_file(path) == {}


FLOATS = ["1e-3", "1E5", "-2e+4", "1.5e3", "0.5", ".5", "5.", "1_0.5", "010.5"]
INTS = ["0", "-7", "+3", "1_000", "1000000000000000000000000000000"]
TEXTS_OF_DIGITS = ["12:30", "1:30.5", "010", "-010", "08", "1e", "e3", "1.2.3", "1-2"]
TEXTS_OF_DIGITS += ["inf", "None", "0x", "0o8", "1e5x", "_1", "+", "._1", "0_1"]
WRITTEN = {
    **{text: float(text) for text in FLOATS},
    **{text: int(text) for text in INTS},
    **{text: text for text in TEXTS_OF_DIGITS},
    "0x1F": 31,
    "0o17": 15,
    "0b11": 3,
    "-.inf": -float("inf"),
    "null": None,
}


def test_numbers_in_yaml_are_those_of_python_and_json(tmp_path):
    path = tmp_path / "run.yaml"
    for text, wanted in WRITTEN.items():
        path.write_text(f"env_kwargs: {{a: {text}}}\nlist:\n- {text}\n")
        found = read_file(path)
        assert found == {"env_kwargs": {"a": wanted}, "list": [wanted]}
        assert type(found["list"][0]) is type(wanted)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_yaml_reads_the_numbers_that_python_and_json_write(number):
    for text in (repr(number), json.dumps(number), yaml.safe_dump(number)):
        found = yaml.load(text, YamlLoader)
        assert (found, type(found)) == (number, type(number))


numerals = st.text("0123456789.eE+-_:xobINFinf", max_size=8)


@given(st.dictionaries(numerals, numerals | st.floats(allow_nan=False) | st.integers()))
def test_what_is_written_is_read_back_in_every_yaml(values):
    for loader in (YamlLoader, yaml.SafeLoader):
        found = yaml.load(to_yaml(values), loader)
        assert found == values
        assert [type(x) for x in found.values()] == [type(x) for x in values.values()]


def test_a_comment_mark_within_a_text_is_text_and_a_mistake_is_shown(tmp_path):
    path = tmp_path / "run.json"
    values = {"url": "http://x//y", "b": "/* c */", "c": ',} "/*,]', "d\\\\": "//"}
    path.write_text(json.dumps(values) + " // end")
    assert read_file(path) == values
    for suffix, text, message in (
        (".json", '{"a": 1,\n "b" 2}', r"Expecting ':' delimiter: line 2 column 6"),
        (".toml", "a = \n", r"Invalid value \(at line 1, column 5\)"),
        (".yaml", "a: [", "line 1, column"),
    ):
        path = tmp_path / f"run{suffix}"
        path.write_text(text)
        with pytest.raises(ValueError, match=message) as error:
            read_file(path)
        assert str(error.value).startswith(f"{path}: not a readable config file: ")


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "made" / "policy.onnx"
    assert write_whole(path, b"first") == path

    def interrupted(number):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, b"second")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"first"]
