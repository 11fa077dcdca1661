"""What the command line makes of wrong values: an error that names the option."""

import importlib
from pathlib import Path

import pytest

import yieldrl
from yieldrl.algorithms import ppo
from yieldrl.cli import options


def test_a_value_too_many_is_named(capsys):
    for words in ("--num-envs 4 5", "--normalize-reward False", "--video y", "4"):
        with pytest.raises(SystemExit) as exit_:
            options.parse(ppo.Trainer, words.split(), "test")
        assert exit_.value.code == 2
        unknown = words.rpartition(" ")[2]
        assert f"Unrecognized options: {unknown}" in capsys.readouterr().err


def test_an_unreadable_value_names_its_option(capsys):
    pairs = "--env-kwargs gravity", "--env-kwargs =9.8"
    wrong = "--num-envs four", "--clip-value x", "--num-envs", "--gama 0.9", *pairs
    for words in wrong:
        with pytest.raises(SystemExit) as exit_:
            options.parse(ppo.Trainer, words.split(), "test")
        assert exit_.value.code == 2
        assert words.partition(" ")[0] in capsys.readouterr().err


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


def test_an_option_of_the_command_line_is_refused_by_its_name(refused):
    for words, said in {
        "--checkpoint-every -1": "checkpoint.every = -1: Input should be greater",
        "--checkpoint-seconds nan": "checkpoint.seconds = nan: Input should be greater",
    }.items():
        assert said in refused("train", "ppo", *words.split())


def test_every_tuned_config_loads():
    folder = Path(yieldrl.__file__).parent / "algorithms"
    names = [(path.parts[-3], path.stem) for path in folder.glob("*/configs/*.yaml")]
    assert len(names) > 5
    for algorithm, name in names:
        module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
        words = ["--config", f"{algorithm}/{name}"]
        config = options.parse(module.Trainer, words, "yieldrl train").config
        assert isinstance(config, module.Config)
