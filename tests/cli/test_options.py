"""What the command line makes of wrong values: an error that names the option."""

import dataclasses
import importlib
from pathlib import Path

import pytest

import yieldrl
from yieldrl.algorithms import ppo
from yieldrl.cli import options
from yieldrl.core import Config


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--num-envs four", "--num-envs: 'four' is no whole number (see test --help)"),
        ("--num-envs", "Missing value for argument '--num-envs'"),
        ("--gama 0.9", "--gama, 0.9: did you mean --gamma?"),
        ("--lr 1", "1: did you mean --learner-restarts or --learning-rate? (see"),
        ("--steps 9", "9: did you mean --num-steps or --total-steps?"),
        ("--run-dir x", "x: did you mean --run-root?"),
        ("--batch-size 8", "8: did you mean --num-minibatches?"),
        ("--no-progress", "Unrecognized options: --no-progress (see test --help)"),
        ("--clip-coef 0,1", "--clip-coef: '0,1' is no number"),
        ("--clip-value x", "--clip-value: 'x' is no {None}|FLOAT"),
        ("--activation sine", "'sine' for argument '--activation'. Expected one of"),
        (
            "--hidden-sizes 64,64",
            "does not fit; separate values by spaces, as in 64 64",
        ),
        ("--env-kwargs gravity", "--env-kwargs: 'gravity': write KEY=VALUE"),
        ("--env-kwargs =9.8", "--env-kwargs: '': write KEY=VALUE"),
        ("--num-envs 4 5", "Unrecognized options: 5"),
        ("--normalize-reward False", "Unrecognized options: False"),
        ("--video y", "Unrecognized options: y"),
        ("4", "Unrecognized options: 4"),
    ],
)
def test_a_wrong_value_is_a_line_with_its_option(words, said, capsys):
    with pytest.raises(SystemExit) as exit_:
        options.parse(ppo.Trainer, words.split(), "test")
    assert exit_.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_free_values_are_read_as_python_has_them():
    words = ["a=1e-3", "b=1E5", "c=12:30", "d=010", "e=None", "f=[None, {g: 2e3}]"]
    words += ["h='1e-3'", 'i="None"', "j=Nonesuch", "k=null", "l=True", "m=1_000"]
    words += ["n=a=b"]
    config = options.parse(ppo.Trainer, ["--env-kwargs", *words], "test").config
    wanted = {"a": 0.001, "b": 100000.0, "c": "12:30", "d": "010", "e": None}
    wanted |= {"f": [None, {"g": 2000.0}], "h": "1e-3", "i": "None", "j": "Nonesuch"}
    wanted |= {"k": None, "l": True, "m": 1000, "n": "a=b"}
    assert config.env_kwargs == wanted
    assert isinstance(config.env_kwargs["b"], float)


def test_every_tuned_config_loads():
    folder = Path(yieldrl.__file__).parent / "algorithms"
    names = [(path.parts[-3], path.stem) for path in folder.glob("*/configs/*.yaml")]
    assert len(names) > 5
    for algorithm, name in names:
        module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
        words = ["--config", f"{algorithm}/{name}"]
        config = options.parse(module.Trainer, words, "yieldrl train").config
        assert isinstance(config, module.Config)


def test_help_says_docstrings_and_defaults_in_groups(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit, match="0"):
        options.parse(ppo.Trainer, ["--help"], "test")
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--gae-lambda FLOAT Lambda of generalized advantage" in text
    assert "--wandb, --no-wandb Log to Weights & Biases as well. (def" in text
    assert "tuning options" not in text
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        options.parse(ppo.Trainer, ["--help"], "test", options.TuneOptions)
    said = capsys.readouterr().out
    assert "--wandb" not in said
    places = [said.index(f"{title} options") for title in options.GROUPS]
    assert places == sorted(places)
    ends = [*places[1:], len(said)]
    within = dict(zip(options.GROUPS, zip(places, ends, strict=True), strict=True))
    for title, option in {
        "task": "--env-id",
        "algorithm": "--clip-coef",
        "tuning": "--fresh-seeds",
        "run": "--trust",
        "background": "--when-stale",
        "cluster": "--ray-address",
        "engine": "--zero-stage",
    }.items():
        assert option in said[slice(*within[title])]
    named = [name for group in options.GROUPS.values() for name in group]
    own = vars(options.Options()) | vars(options.TuneOptions())
    fields = {*own, *vars(ppo.Config())}
    assert len(named) == len(set(named))
    assert set(named) <= fields
    assert {entry.name for entry in dataclasses.fields(Config)} <= set(named)
