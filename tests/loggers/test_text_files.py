"""CSV and JSON Lines: their rows, and what no number of theirs is."""

import csv as standard
import io
import json
import math

import torch

from yieldrl import loggers

HEADER = "log_type,sample_step,learn_step,metric,value"


def rows(path):
    lines = path.read_text().splitlines()
    assert lines[0] == HEADER
    return lines[1:]


def test_rows_are_means_over_every(make_trainer):
    trainer = make_trainer(total_steps=40, eval_every=30)
    list(loggers.csv(every=20)(trainer)())
    assert rows(trainer.run.folder / "logs.csv") == [
        "train,20,10,loss,5.5",
        "collect,20,9,episode_return,15.0",
        "collect,20,9,episodes,2.0",
        "evaluate,30,14,episode_return,15.0",
        "evaluate,30,14,episodes,2.0",
        "train,40,20,loss,15.5",
        "collect,40,19,episode_return,35.0",
        "collect,40,19,episodes,2.0",
    ]


def test_a_run_leaves_about_a_thousand_points(make_trainer):
    trainer = make_trainer(total_steps=200_000)
    trainer.agent.sample_step = 200_000 - 400
    list(loggers.csv()(trainer)())
    losses = [row for row in rows(trainer.run.folder / "logs.csv") if "loss" in row]
    assert len(losses) == 2


def test_rows_are_on_disk_before_the_yield(trainer):
    path = trainer.run.folder / "logs.csv"
    for log in loggers.csv(every=0)(trainer)():
        if log["log_type"] == "train":
            step = log["learn_step"]
            assert rows(path)[-1] == f"train,{2 * step},{step},loss,{float(step)}"


def test_a_line_of_json_is_a_log(trainer):
    logs = list(loggers.jsonl(every=0)(trainer)())
    wanted = [
        {**log, "logs": {name: float(x) for name, x in log["logs"].items()}}
        for log in logs
        if log["logs"]
    ]
    text = (trainer.run.folder / "logs.jsonl").read_text()
    assert [json.loads(line) for line in text.splitlines()] == wanted
    assert len(wanted) == 60  # 50 train, 10 collect


def test_odd_values_and_names_are_read_back(make_trainer):
    trainer = make_trainer(eval_every=100)
    logs = {
        'a, "b"': 0.1,
        "nan": torch.tensor(math.nan),
        "inf": math.inf,
        "minus": torch.tensor(-math.inf),
        "tiny": 1e-300,
        "whole": 1,
    }
    trainer.evaluate = lambda *_: trainer.log("evaluate", logs)
    stack = loggers.jsonl()(loggers.csv()(trainer))
    list(stack())
    text = (trainer.run.folder / "logs.csv").read_text()
    rows = [
        row for row in standard.DictReader(io.StringIO(text)) if "ev" in row["log_type"]
    ]
    values = {row["metric"]: float(row["value"]) for row in rows}

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    lines = (trainer.run.folder / "logs.jsonl").read_text().splitlines()
    last = json.loads(lines[-3], parse_constant=refuse)["logs"]
    assert (last["nan"], last["inf"], last["minus"]) == ("NaN", "Infinity", "-Infinity")
    for found in (values, {name: float(x) for name, x in last.items()}):
        assert math.isnan(found.pop("nan"))
        assert found == {name: float(x) for name, x in logs.items() if name != "nan"}
    assert list(stack()) == []  # and the loggers can read their own files
