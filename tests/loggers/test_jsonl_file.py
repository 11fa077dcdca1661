"""The JSON Lines logger."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from yieldrl import loggers


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_a_log(trainer: Any) -> None:
    logs = list(loggers.jsonl(every=0)(trainer)())
    wanted = [
        {**log, "logs": {name: float(x) for name, x in log["logs"].items()}}
        for log in logs
        if log["logs"]
    ]
    assert read(trainer.run_dir / "logs.jsonl") == wanted
    assert len(wanted) == 60  # 50 train, 10 collect


def test_means_over_every(trainer: Any) -> None:
    list(loggers.jsonl(every=50)(trainer)())
    found = read(trainer.run_dir / "logs.jsonl")
    assert found[0] == {
        "log_type": "train",
        "sample_step": 50,
        "learn_step": 25,
        "logs": {"loss": 13.0},
    }
    assert [row["log_type"] for row in found] == ["train", "collect"] * 2


def test_what_json_cannot_say_is_a_string(trainer: Any, tmp_path: Path) -> None:
    logs = {"a": math.nan, "b": torch.tensor(math.inf), "c": -math.inf, "d": 1}
    trainer.evaluate = lambda *_: trainer.log("evaluate", logs)
    path = tmp_path / "odd.jsonl"
    list(loggers.jsonl(path)(loggers.evaluation()(trainer))())

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    last = json.loads(path.read_text().splitlines()[-3], parse_constant=refuse)
    assert last["logs"] == {"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": 1.0}
    assert math.isnan(float(last["logs"]["a"]))


def test_loops_append_and_checkpoints_rewind(trainer: Any) -> None:
    stack = loggers.jsonl(every=10)(trainer)
    for log in stack():
        if (log["sample_step"], log["log_type"]) == (40, "train"):
            break
    checkpoint = trainer.save(trainer.run_dir / "at-40")
    list(stack())
    path = trainer.run_dir / "logs.jsonl"
    text = path.read_text()
    assert [row["sample_step"] for row in read(path)][::2] == list(range(10, 101, 10))
    path.write_text(text + '{"log_type": "tra')
    trainer.load(checkpoint)
    list(stack())
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["notes\n", "3\n", "[]\n", '{"sample_step": 3}\n'])
def test_another_file_is_refused(trainer: Any, tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"line 1: .* is not a row of this logger"):
        list(loggers.jsonl(path)(trainer)())
    assert path.read_text() == text
