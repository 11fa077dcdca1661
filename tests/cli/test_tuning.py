"""`yieldrl tune`: a search, its files, and that they say what comes true."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli import main

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

TINY = ["ppo", "--env-id", "yieldrl/CartPole-v1", "--total-steps", "128"]
TINY += ["--num-steps", "16", "--eval-every", "64", "--eval-episodes", "1"]
TINY += ["--eval-in-order"]
SEARCH = ["--seeds", "2", "--fresh-seeds", "2", "--space", "learning_rate", "gamma"]
FOLDER = Path("runs/tune-ppo-yieldrl-CartPole-v1")


def test_a_search_from_a_file_and_a_file_that_does_what_it_says(capsys):
    """The file's values are where it begins, options stay; the same command goes on."""
    Path("own.yaml").write_text(
        "algorithm: {name: ppo, learning_rate: 0.005, gamma: 0.9}\nloggers: [csv]"
    )
    words = ["--trials", "2", "--seeds", "1", "--fresh-seeds", "1", "--gamma", "0.95"]
    words = ["tune", "--config", "own.yaml", *TINY[1:], *words]
    main(words)
    first, seeds, tuned, *lines = capsys.readouterr().out.splitlines()
    assert first == f"study: {FOLDER}, 0 of 2 trials"
    assert tuned.startswith("tuned: learning_rate=3e-5..1e-2:log num_epochs=1..20")
    own = (
        r"1/2 return [\d.]+, the best so far \(learning_rate=0.005 num_epochs=4 .* s\)"
    )
    assert re.fullmatch(own, lines[0])
    text = (FOLDER / "best.yaml").read_text()
    found, *comments = [x[2:] for x in text.splitlines() if x.startswith("# ")]
    assert found == f"Found by: yieldrl {' '.join(words)}"
    assert lines[3:-2] == comments
    assert (
        comments[-1] == f"Train: yieldrl train ppo --config {FOLDER}/best.yaml --seed 2"
    )
    assert "loggers:\n- csv: {}\n" in text
    fresh = re.search(r"# These settings on fresh seeds 2: ([\d.]+)\.\n", text)
    command = comments[-1].removeprefix("Train: yieldrl ").split()
    main([*command, "--run-name", "it"])
    assert f", 20 episodes: return {float(fresh[1]):.2f} " in capsys.readouterr().out
    assert ppo.Config.from_file("runs/it/config.yaml").gamma == 0.95
    assert "<script src" not in (FOLDER / "tuning.html").read_text()
    main(words)
    again = capsys.readouterr().out.splitlines()
    assert again == [first.replace("0 of", "2 of"), seeds, tuned, *lines[2:]]


def test_what_is_wrong_is_said_before_anything_is_searched(refused):
    for words, said in {
        "--trials 0": "TuneOptions.trials = 0: Input should be greater than or equal",
        "--trials x": "--trials: 'x' is no whole number (see yieldrl tune ppo --help)",
        "--sampler grid": "invalid choice 'grid' for argument '--sampler'",
        "--config": "Missing value for argument '--config'",
        "--space gama": "has no field 'gama': did you mean 'gamma'?",
        "--space gamma --gamma 0.9": "gamma is tuned and set as well: leave one",
        "--metric success_rate": "--metric success_rate: evaluations have epis",
        "--eval-every 0": "eval_every = 0: trials are compared by evaluations",
    }.items():
        assert said in refused("tune", "ppo", *words.split())
        assert not Path("runs").exists()
    assert "no algorithm is called 'pppo'" in refused("tune", "pppo")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_it_goes_on_after_a_kill(how, capsys):
    words = ["tune", *TINY, *SEARCH, "--trials", "4", "--jobs", "2"]
    command = [sys.executable, "-m", "yieldrl", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while not (line := process.stdout.readline()).startswith("1/4"):
            assert line, "it ended by itself"
        process.send_signal(how)
        said = process.stdout.read()  # to its end: no worker holds it open
    assert process.returncode in (-9, 130)
    assert ("the same command goes on" in said) == (how == signal.SIGINT)
    main(words)
    out = capsys.readouterr().out
    assert re.search(r"study: .*, [12] of 4 trials", out)
    assert "\n4/4 " in out
