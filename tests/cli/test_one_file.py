"""Runs from one file: the document's as it stands, and parts of the user's own."""

import functools
import json
import sys
from pathlib import Path

import pytest
import yaml
from founding_document import DOCUMENT

from yieldrl.algorithms import ppo
from yieldrl.cli import main, options
from yieldrl.loggers import list_checkpoints

PARTS = """
import gymnasium
from yieldrl import loggers
from yieldrl.algorithms import ppo

SEEN = []

class Short(gymnasium.wrappers.TimeLimit):
    def __init__(self, length=20, render_mode=None):
        super().__init__(gymnasium.make("CartPole-v1", render_mode=render_mode), length)

class Wide(ppo.Model):
    def __init__(self, observation_space, action_space, config, width=64):
        super().__init__(
            observation_space, action_space, ppo.Config(hidden_sizes=(width,))
        )

class Note(loggers.Logger):
    def __init__(self, word):
        self.word = word

    def run(self, trainer, logs):
        SEEN.append(self.word)
        yield from logs

class Mine(ppo.Trainer):
    pass

class Helper:
    pass
"""

TINY = {
    "trainer": {"iterations": 2, "eval_every": 0, "seed": 3},
    "env": {"env_id": "yieldrl/CartPole-v1", "num_envs": 4},
    "algorithm": {"name": "ppo", "n_steps": 32, "batch_size": 32, "n_epochs": 2},
}


@pytest.fixture
def parts():
    """A module of the user's own, in the working directory."""
    Path("parts_of_mine.py").write_text(PARTS)
    yield lambda: sys.modules["parts_of_mine"]
    sys.modules.pop("parts_of_mine", None)


def write(values, name="run.json"):
    dump = json.dumps if name.endswith(".json") else yaml.safe_dump
    Path(name).write_text(dump(values))
    return name


def train(file, *words, name="tiny"):
    main(["train", "--config", file, "--run-name", name, *words])
    return Path("runs") / name


def logs(run):
    return (run / "logs.csv").read_text()


def test_the_file_of_the_document_trains_as_it_stands():
    Path("my_config.json").write_text(DOCUMENT)
    command = options.parse(None, ["--config", "my_config.json"], "yieldrl train")
    assert command.spec.trainer_class is ppo.Trainer
    assert command.config == ppo.Config(
        num_steps=2048,
        num_epochs=10,
        num_minibatches=128,
        learning_rate=3e-4,
        total_steps=4_096_000,
    )
    words = ("--total-steps", "8192", "--num-epochs", "1", "--eval-every", "0")
    run = train("my_config.json", *words)
    whole = yaml.safe_load((run / "config.yaml").read_text())
    assert whole["trainer"]["total_steps"] == 8192
    assert whole["algorithm"]["cfg"]["num_minibatches"] == 128


def test_what_is_printed_trains_to_the_same_losses(capsys):
    original = "run.yaml"
    first = train(write(TINY, original), name="first")
    capsys.readouterr()
    main(["train", "--config", original, "--print-config"])
    printed = capsys.readouterr().out
    Path("whole.yaml").write_text(printed)
    blocks = "trainer env policy algorithm collector loggers"
    assert list(yaml.safe_load(printed)) == blocks.split()
    assert not [path for path in Path("runs").iterdir() if path != first]
    second = train("whole.yaml", name="second")
    third = train(str(first / "config.yaml"), name="third")
    assert "loss" in logs(first)
    assert logs(first) == logs(second) == logs(third)
    texts = [(run / "config.yaml").read_text() for run in (first, second)]
    assert texts[0].replace("name: first", "") == texts[1].replace("name: second", "")
    main(["train", "--config", "whole.yaml", "--print-config"])
    assert capsys.readouterr().out.endswith(printed)


def test_options_override_the_file_and_its_computed_values():
    words = ["--config", write(TINY), "--total-steps", "1000", "--num-envs", "2"]
    config = options.parse(None, words, "test").config
    assert (config.total_steps, config.num_envs, config.seed) == (1000, 2, 3)
    assert config.num_minibatches == 4  # of the file, which had 4 environments


def test_the_algorithm_may_be_named_in_either_place(refused):
    file = write(TINY)
    command = options.parse(ppo.Trainer, ["--config", file], "test")
    assert command == options.parse(None, ["--config", file], "test")
    said = refused("train", "a2c", "--config", file)
    assert "its name is 'ppo', and the command line says 'a2c'" in said
    nameless = write({**TINY, "algorithm": {}}, "nameless.json")
    assert options.parse(ppo.Trainer, ["--config", nameless], "test").config.seed == 3
    for file, said in (
        (write({"algoritm": {}}, "a.json"), "a.json: no algorithm: name it in the"),
        (write({"gamma": 0.9}), "no algorithm: name it in the block 'algorithm'"),
        ("ppo/pendulum", "name the algorithm too, as in yieldrl train ppo --config"),
    ):
        assert said in refused("train", "--config", file)


def test_parts_of_the_users_own_train_resume_and_play(parts, capsys):
    file = write(
        {
            "trainer": {"iterations": 2, "eval_every": 0},
            "env": {"name": "parts_of_mine:Short", "cfg": {"length": 5}},
            "policy": {"name": "parts_of_mine:Wide", "width": 5},
            "algorithm": {"name": "parts_of_mine:Mine", "n_steps": 32},
            "loggers": ["csv", "checkpoint", {"parts_of_mine.Note": {"word": "hi"}}],
        }
    )
    run = train(file, "--trust")
    assert parts().SEEN == ["hi"]
    whole = yaml.safe_load((run / "config.yaml").read_text())
    assert whole["policy"] == {"name": "parts_of_mine:Wide", "cfg": {"width": 5}}
    assert whole["algorithm"]["name"] == "parts_of_mine:Mine"
    assert {path.name for path in run.iterdir()} == {
        *("config.yaml", "run.json", "owner.json", ".lock", "logs.csv", "checkpoints"),
        "evaluations",
    }
    assert "parts_of_mine on parts_of_mine:Short, 20 episodes: return 5.00 +- 0.00" in (
        capsys.readouterr().out
    )
    main(["resume", str(run), "--total-steps", "512", "--trust"])
    assert parts().SEEN == ["hi", "hi"]
    assert list_checkpoints(run)[0].name == "step_000000512.pt"
    again = yaml.safe_load((run / "config.yaml").read_text())
    assert again == {**whole, "trainer": {**whole["trainer"], "total_steps": 512}}
    capsys.readouterr()
    main(["export", str(run), "--to", "card", "--episodes", "1", "--trust"])
    main(["evaluate", str(run / "card"), "--episodes", "2", "--trust"])
    assert "return 5.00 +- 0.00" in capsys.readouterr().out
    wide = functools.partial(parts().Wide, width=5)
    checkpoint = list_checkpoints(run)[0]
    with parts().Mine.load(checkpoint, model=wide, trust=True) as trainer:
        assert sum(1 for p in trainer.model.critic.parameters() if 5 in p.shape) == 3


def test_a_copied_folder_is_an_algorithm_too(parts, refused):
    main(["new", "ppo_of_mine", "--from", "ppo"])
    words = ["--total-steps", "64", "--num-steps", "16", "--eval-every", "0"]
    main(["train", "ppo_of_mine", *words, "--run-name", "one"])
    whole = yaml.safe_load(Path("runs/one/config.yaml").read_text())
    assert whole["algorithm"]["name"] == "ppo_of_mine"
    train("runs/one/config.yaml", "--trust", name="two")
    assert logs(Path("runs/one")) == logs(Path("runs/two"))
    main(["resume", "runs/two", "--total-steps", "128", "--trust"])


MISTAKES = [
    (
        "policy",
        {"name": "vla", "vla_config": {"chunk_length": 4}},
        "decides about one action at a time; take the algorithm vla_ppo",
    ),
    ("policy", "actr_critic", "no policy is called 'actr_critic': choose one of"),
    ("policy", "parts_of_mine:Wid", "has no attribute 'Wid'"),
    ("policy", "parts_of_nobody:Wide", "No module named 'parts_of_nobody'"),
    ("policy", "parts_of_mine:Helper", "name a class derived from torch.nn"),
    ("algorithm", "parts_of_mine", "is None, not a Trainer: name a subclass of"),
    ("loggers", ["tensorbord"], "no logger is called 'tensorbord': did you mean"),
    ("loggers", [{"checkpoint": {"evry": 3}}], "checkpoint.evry = 3: Unexpected"),
    ("loggers", ["parts_of_mine:Note"], "missing 1 required positional"),
    ("loggers", "csv", "expected a list of names, got 'csv'"),
    ("loggers", [{"name": "csv", "cfg": {}}], "is no NAME, or {NAME: cfg}"),
]


def test_a_name_that_is_not_there_gets_one_line(parts, refused):
    for block, said, message in MISTAKES:
        file = write({**TINY, block: said})
        found = refused("train", "--config", file, "--trust")
        assert f"block '{block}': " in found
        assert message in found
        assert not Path("runs").exists()
    file = write({"algorithm": {"name": "dqn"}, "policy": {"name": "vla"}})
    said = refused("train", "--config", file, "--trust")
    assert "dqn.trainer does not learn by a policy such as 'vla'" in said
    file = write({**TINY, "env": {"name": "parts_of_mine:Shorter"}})
    said = refused("train", "--config", file, "--trust")
    assert said.startswith("env_id = 'parts_of_mine:Shorter': no such environment")


def test_loggers_are_a_list_which_options_change():
    for said, names in (
        (None, ["checkpoint", "csv", "tensorboard", "progress"]),
        ([], []),
        (
            ["progress", {"jsonl": {"every": 9}}, {"csv": None}],
            ["progress", "jsonl", "csv"],
        ),
    ):
        words = ["--config", write({**TINY, "loggers": said})]
        spec = options.parse(None, words, "test").spec
        assert [one.name for one in spec.loggers] == names

    checkpoint = {"checkpoint": {"every": 64, "seconds": 9.0}}
    file = write({**TINY, "loggers": [checkpoint, "video"]})

    def chosen(*words):
        spec = options.parse(None, ["--config", file, *words], "test").spec
        return dict(spec.loggers)

    assert chosen() == {**checkpoint, "video": {}}
    changed = chosen("--checkpoint-every", "8", "--no-video", "--wandb")
    assert changed == {"wandb": {}, "checkpoint": {"every": 8, "seconds": 9.0}}
    file = write({**TINY, "loggers": []})
    assert chosen("--seed", "2") == {}
    every = chosen("--checkpoint-every", "8")
    assert every == {"checkpoint": {"every": 8}}
