"""The Weights & Biases logger, offline: no account, no network."""

import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from yieldrl import loggers

pytest.importorskip("wandb", reason="its runs need wandb")
wandb_internal_pb2 = pytest.importorskip("wandb.proto.wandb_internal_pb2")


def records(file: Path) -> Iterator[bytes]:
    """The records of an offline run: LevelDB's log format after seven bytes."""
    data, at, record = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # blocks end in padding
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a full record, or its last part
            yield record
            record = b""


def history(file: Path) -> list[dict[str, str]]:
    """What was logged in an offline run, as JSON values, without wandb's own keys."""
    found: list[dict[str, str]] = []
    for _ in range(6000):  # wandb's own process writes the file, in its own time
        run = [wandb_internal_pb2.Record.FromString(data) for data in records(file)]
        if run and run[-1].HasField("exit"):
            break
        time.sleep(0.1)
    for record in run:
        if record.HasField("history"):
            items = {item.nested_key[0]: item for item in record.history.item}
            found.append({k: x.value_json for k, x in items.items() if k[0] != "_"})
    return found


def test_two_loops_are_one_run(make_trainer: Callable[..., Any]) -> None:
    trainer = make_trainer(total_steps=40, eval_every=40)
    stack = loggers.wandb("test", mode="offline", every=20, name="mine")(trainer)
    for log in stack():
        if log["sample_step"] == 22:
            break
    list(stack())
    runs = (trainer.run_dir / "wandb").glob("offline-run-*/*.wandb")
    first, second = sorted(runs, key=lambda file: file.stat().st_mtime_ns)
    run_id = (trainer.run_dir / "wandb_id.txt").read_text().strip()
    assert first.name == second.name == f"run-{run_id}.wandb"
    assert history(first) == [
        {"train/loss": "5.5", "sample_step": "20", "learn_step": "10"},
        {
            "collect/episode_return": "15",
            "collect/episodes": "2",
            "sample_step": "20",
            "learn_step": "9",
        },
    ]
    assert {
        "evaluate/episode_return": "20",
        "evaluate/episodes": "2",
        "sample_step": "40",
        "learn_step": "19",
    } in history(second)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="mode = 'off': choose one of"):
        loggers.wandb(mode="off")
