"""`yieldrl train`: options, files, loggers, the end and the interruption."""

import csv
import json
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from yieldrl.algorithms import ppo
from yieldrl.cli import main, options, train_command, training
from yieldrl.distributed import DeadLearnerError
from yieldrl.loggers import list_checkpoints

TINY = ("--total-steps", "256", "--eval-every", "0", "--num-steps", "32")


def parse(*words):
    return options.parse(ppo.Trainer, words, "test").config


def test_a_run_leaves_what_it_says(train, capsys):
    run = train("--seed", "3")
    written = {path.name for path in run.iterdir()}
    assert written >= {"config.yaml", "run.json", "logs.csv", "checkpoints"}
    config = ppo.Config.from_file(run / "config.yaml")
    assert (config.seed, config.total_steps, config.num_steps) == (3, 256, 32)
    about = json.loads((run / "run.json").read_text())
    assert about["trainer"] == "yieldrl.algorithms.ppo.trainer"
    names = sorted(path.name for path in (run / "checkpoints").glob("*.pt"))
    assert names == ["step_000000256.pt"]
    with (run / "logs.csv").open() as file:
        kinds = {row["log_type"] for row in csv.DictReader(file)}
    assert kinds == {"collect", "train"}

    first, summary, last = capsys.readouterr().out.splitlines()
    assert first == last == f"run folder: {run}"
    assert summary.startswith("ppo on CartPole-v1, 20 episodes: return ")


def test_flags_reach_fields_of_every_kind():
    config = parse(
        *("--env-id", "Pendulum-v1", "--env-kwargs", "g=9.8", "name=a b", "on=true"),
        *("--hidden-sizes", "32", "16", "--clip-value", "0.5", "--threads", "2"),
        *("--normalize-reward", "--no-anneal-learning-rate", "--activation", "relu"),
        *("--learning_rate", "3e-4"),
    )
    assert config == ppo.Config(
        env_id="Pendulum-v1",
        env_kwargs={"g": 9.8, "name": "a b", "on": True},
        hidden_sizes=(32, 16),
        clip_value=0.5,
        threads=2,
        normalize_reward=True,
        anneal_learning_rate=False,
        activation="relu",
        learning_rate=3e-4,
    )
    assert parse("--clip-value", "None").clip_value is None
    assert parse() == ppo.Config()


def test_a_file_gives_the_defaults_and_flags_override_it():
    path = Path("config.json")
    values = {"gamma": 0.9, "hidden_sizes": [8], "env_kwargs": {"g": 1.0}, "seed": 5}
    path.write_text(json.dumps(values))
    config = parse("--config", str(path), "--seed", "6")
    expected = {"gamma": 0.9, "hidden_sizes": (8,), "env_kwargs": {"g": 1.0}, "seed": 6}
    assert config == ppo.Config(**expected)
    tuned = parse("--config", "ppo/pendulum")
    assert tuned == parse("--config", "pendulum")
    assert tuned.env_id == "Pendulum-v1"


def test_a_mistake_gets_one_line(refused):
    for words, message in {
        "ppp": "no algorithm is called 'ppp': did you mean ppo?",
        "ppo --env-id CartPol-v1": "Did you mean: `CartPole`?",
        "ppo --num-minibatches 1000": "a rollout has only 512 transitions",
        "ppo --device abacus": "device = 'abacus': not usable on this machine",
        "ppo --checkpoint-every -1": "checkpoint.every = -1: Input should be greater",
        "ppo --checkpoint-seconds nan": "checkpoint.seconds = nan: Input should be",
        "ppo --config nothing": "neither a .json, .yaml, .yml, .toml file nor",
        "ppo --config pendulun": "did you mean pendulum?",
        "dqn --env-id Pendulum-v1": "DQN needs a Discrete action space",
    }.items():
        assert message in refused("train", *words.split())
        assert not Path("runs").exists()


@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
def test_an_error_within_training_keeps_its_traceback(kind, monkeypatch, train):
    def broken(*_):
        raise kind("a bug")

    monkeypatch.setattr(ppo.Algorithm, "learn", broken)
    with pytest.raises(kind, match="a bug"):
        train("--seed", "2")


class Interrupted(ppo.Trainer):
    """Somebody presses Ctrl-C in the middle of a step."""

    def _run_train(self):
        if self.agent.learn_step == 5:
            signal.raise_signal(signal.SIGINT)
        return super()._run_train()


def test_ctrl_c_saves_and_says_how_to_go_on(capsys):
    with pytest.raises(SystemExit) as exit_:
        train_command(Interrupted, [*TINY, "--run-name", "it"])
    assert exit_.value.code == 130
    out = capsys.readouterr().out
    assert "interrupted at step 128; saved runs/it/checkpoints/step_000000128.pt" in out
    assert "go on with: yieldrl resume runs/it --trust\n" in out
    with Interrupted.load("runs/it/checkpoints/step_000000128.pt") as trainer:
        # The step in which it was pressed was taken to its end, and is not lost.
        assert trainer.agent.learn_step == 6


def test_of_several_that_train_together_one_speaks(monkeypatch, capsys):
    """The others train, are interrupted and go on without a word."""
    monkeypatch.setattr(training, "_first", lambda: False)
    with pytest.raises(SystemExit) as exit_:
        train_command(Interrupted, [*TINY, "--run-name", "it"])
    assert exit_.value.code == 130
    main(["resume", "runs/it", "--trust"])
    assert capsys.readouterr().out == ""


def test_checkpoints_come_as_the_options_say(train):
    run = train("--checkpoint-every", "96", "--checkpoint-seconds", "0")
    names = [path.stem for path in list_checkpoints(run)]
    assert names == [f"step_{step:09d}" for step in (256, 192, 96)]
    whole = yaml.safe_load((run / "config.yaml").read_text())
    checkpoint = {"checkpoint": {"every": 96, "seconds": 0.0}}
    assert whole["loggers"][0] == checkpoint
    main(["resume", str(run), "--total-steps", "384"])
    names = [path.stem for path in list_checkpoints(run)]
    assert names == [f"step_{step:09d}" for step in (384, 288, 256)]


@pytest.mark.parametrize("restarts", [0, 1])
def test_after_the_death_of_a_learner_a_run_goes_on_as_often_as_asked(
    restarts, monkeypatch, capsys, tmp_path
):
    """From its newest checkpoint; then it ends, and says how to go on."""
    looped = []

    def loop(_, logged):
        looped.append(logged)
        raise DeadLearnerError("learner 1 has died")

    config = ppo.Config(collection="ray", learners=2, learner_restarts=restarts)
    trainer = SimpleNamespace(
        config=config, run=SimpleNamespace(folder=tmp_path / "run")
    )
    monkeypatch.setattr(training, "_loop", loop)
    monkeypatch.setattr(
        training, "_restored", lambda run, _, trust: (trainer, f"again {run}")
    )
    with pytest.raises(SystemExit):
        training._run(trainer, "first")
    assert looped == ["first", f"again {tmp_path}/run"][: restarts + 1]
    said = capsys.readouterr().err
    assert "learner 1 has died; go on with: yieldrl resume run" in said
