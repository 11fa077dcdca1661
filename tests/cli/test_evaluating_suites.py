"""`yieldrl evaluate --suite`: what it prints, writes, and goes on with."""

import json

import pytest

from yieldrl.cli import main


@pytest.fixture
def run(train):
    with open("weights.yaml", "w") as file:
        file.write("light: {gravity: 3.0}\nheavy: {gravity: 20.0}\n")
    return train("--env-id", "yieldrl/CartPole-v1", "--env-kwargs", "length=0.7")


def test_it_goes_on_where_it_was_and_reports(run, capsys):
    capsys.readouterr()
    words = ["evaluate", str(run), "--suite", "weights.yaml", "--seed", "5"]
    main([*words, "--episodes-per-task", "1"])
    lines = capsys.readouterr().out.splitlines()
    first, file, *episodes, light, heavy, suite = lines
    assert first == f"checkpoint: {run}/checkpoints/step_000000256.pt, step 256"
    path = run / "evaluations" / "weights.json"
    assert file == f"episodes: {path}, 2 to play"
    names = [line.partition(":")[0] for line in episodes]
    assert names == ["1/2 light 0", "2/2 heavy 0"]
    assert suite.startswith("weights, 2 tasks  return ")
    found = json.loads(path.read_text())
    assert found["sample_step"] == 256
    assert found["tasks"]["heavy"] == {"length": 0.7, "gravity": 20.0}
    one, other = found["episodes"]
    assert light == f"light             return {one['length']:.2f} +- 0.00 of 1"
    assert heavy == f"heavy             return {other['length']:.2f} +- 0.00 of 1"

    main([*words, "--episodes-per-task", "2"])
    again = capsys.readouterr().out.splitlines()
    assert again[1] == f"episodes: {path}, 2 to play"
    names = [line.partition(":")[0] for line in again[2:4]]
    assert names == ["1/2 light 1", "2/2 heavy 1"]
    assert json.loads(path.read_text())["episodes"][0] == one
