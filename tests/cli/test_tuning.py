"""`yieldrl tune`: a search, its files, and that they say what comes true."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from yieldrl.algorithms import ppo
from yieldrl.cli import evaluating, main

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

TINY = ["ppo", "--env-id", "yieldrl/CartPole-v1", "--total-steps", "128"]
TINY += ["--num-steps", "16", "--eval-every", "64", "--eval-episodes", "1"]
SEARCH = ["--seeds", "2", "--fresh-seeds", "2", "--space", "learning_rate", "gamma"]
FOLDER = Path("runs/tune-ppo-yieldrl-CartPole-v1")


@pytest.mark.slow
def test_the_best_settings_do_what_their_file_says(capsys):
    main(["tune", *TINY, *SEARCH, "--trials", "3"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"study: {FOLDER}, 0 of 3 trials"
    own = (
        r"1/3 return [\d.]+, the best so far \(learning_rate=0.001 gamma=0.99; \d+ s\)"
    )
    assert re.fullmatch(own, lines[2])
    assert lines[-2:] == [
        f"best settings: {FOLDER}/best.yaml",
        f"page: {FOLDER}/tuning.html",
    ]
    text = (FOLDER / "best.yaml").read_text()
    found, *comments = [x[2:] for x in text.splitlines() if x.startswith("# ")]
    assert found == f"Found by: yieldrl tune {' '.join([*TINY, *SEARCH])} --trials 3"
    assert lines[6:-2] == comments
    number, value = re.search(r"number (\d), .*return ([\d.]+),", comments[0]).groups()
    returns = [float(line.split()[2].rstrip(",")) for line in lines[2:5]]
    assert float(value) == returns[int(number)] == max(returns)

    each = re.search(r"These .* seeds 3, 4: .* \(([\d.]+), ([\d.]+)\)\.", comments[1])
    command = comments[-1].removeprefix("Train: yieldrl ").split()
    assert command[-2:] == ["--seed", "3"]
    for seed, said in zip("34", each.groups(), strict=True):
        main([*command, "--seed", seed])
        trained = capsys.readouterr().out
        assert float(re.search(r"return ([\d.]+)", trained)[1]) == float(said)
    main(["tune", *TINY, *SEARCH, "--trials", "3"])  # which are there
    again = capsys.readouterr().out.splitlines()
    assert again == [first.replace("0 of", "3 of"), *lines[:2], *lines[5:]]


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


def test_a_file_gives_values_to_begin_with_and_options_stay(capsys):
    """And its loggers, which go into the file that is written."""
    Path("own.yaml").write_text(
        "algorithm: {name: ppo, learning_rate: 0.005, gamma: 0.9}\nloggers: [csv]"
    )
    words = ["--trials", "1", "--seeds", "1", "--fresh-seeds", "1", "--run-name", "it"]
    main(["tune", "--config", "own.yaml", *TINY[1:], "--gamma", "0.95", *words])
    out = capsys.readouterr().out
    assert "gamma" not in out
    assert "(learning_rate=0.005 num_epochs=4 " in out
    text = Path("runs/it/best.yaml").read_text()
    assert "loggers:\n- csv: {}\n" in text
    fresh = re.search(r"# These settings on fresh seeds 2: ([\d.]+) \+- 0 ", text)
    Path("runs/it/best.yaml").write_text(text.replace("seed: 1", "seed: 2"))
    config = ppo.Config.from_file("runs/it/best.yaml")
    assert (config.gamma, config.learning_rate, config.seed) == (0.95, 0.005, 2)
    with ppo.Trainer(config) as trainer:
        list(trainer())
        assert f"return {float(fresh[1]):.2f} " in evaluating.report(trainer)
    assert "<script src" not in Path("runs/it/tuning.html").read_text()


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
