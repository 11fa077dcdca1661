"""The JSON Lines logger."""

import json
import math

import torch

from yieldrl import loggers


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_a_log(trainer):
    logs = list(loggers.jsonl(every=0)(trainer)())
    wanted = [
        {**log, "logs": {name: float(x) for name, x in log["logs"].items()}}
        for log in logs
        if log["logs"]
    ]
    assert read(trainer.run.folder / "logs.jsonl") == wanted
    assert len(wanted) == 60  # 50 train, 10 collect


def test_what_json_cannot_say_is_a_string(make_trainer):
    trainer = make_trainer(eval_every=100)
    logs = {"a": math.nan, "b": torch.tensor(math.inf), "c": -math.inf, "d": 1}
    trainer.evaluate = lambda *_: trainer.log("evaluate", logs)
    path = trainer.run.folder / "logs.jsonl"
    list(loggers.jsonl()(trainer)())

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    last = json.loads(path.read_text().splitlines()[-3], parse_constant=refuse)
    assert last["logs"] == {"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": 1.0}
    assert math.isnan(float(last["logs"]["a"]))
