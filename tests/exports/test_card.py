"""An agent's file plays as the agent did, a card says what it reached, and both are
refused where they are damaged or name code of others."""

import json
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import torch
import yaml
from exported import observations
from factories import trainer_of
from safetensors.torch import load_file, save_file

from yieldrl.algorithms import ppo
from yieldrl.cli import catalog, load_agent, main, restoring
from yieldrl.core import CheckpointError
from yieldrl.experiments.agent_file import write_agent
from yieldrl.exports import card, write_card


@pytest.mark.parametrize(
    "name",
    [
        *("ppo", "rainbow", "q_learning"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in catalog.folders()),
    ],
)
def test_the_file_of_an_agent_plays_as_the_agent_does(name, tmp_path):
    path = tmp_path / "model.safetensors"
    with trainer_of(name) as made:
        for tensor in made.model.state_dict().values():  # that no seed makes
            if tensor.is_floating_point():
                tensor.add_(torch.rand_like(tensor))
        write_agent(made, path)
        obs = observations(made.evaluator.envs.single_observation_space, 8)
        expected = made.agent.predict(obs)
        assert load_file(path).keys() == made.model.state_dict().keys()
    with load_agent(str(path)) as player:
        np.testing.assert_array_equal(player.agent.predict(obs), expected)
        assert type(player) is type(made)


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """The file of an agent, in a folder that is the working directory."""
    monkeypatch.chdir(tmp_path)
    with trainer_of(ppo) as made:
        write_agent(made, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def changed(path, about=None, **weights):
    """The agent again, with another text about it, or other weights."""
    text = json.dumps(catalog.about(path)) if about is None else about
    save_file(load_file(path) | weights, path, {"yieldrl": text})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "not a readable file"),
        (lambda path: path.write_bytes(b"\x80\x04pickle" * 9), "not a readable file"),
        (lambda path: save_file(load_file(path), path), "describe no agent"),
        (lambda path: changed(path, "[1]"), "describe no agent"),
        (
            lambda path: changed(path, '{"version": 2}'),
            "describe no agent of version 1",
        ),
        (lambda path: changed(path, new=torch.ones(1)), "does not fit yieldrl.algo"),
        (lambda path: changed(path, new=torch.full((1,), torch.nan)), "holds NaN"),
    ],
)
def test_what_is_no_agent_is_refused(damage, said, agent):
    damage(agent)
    with pytest.raises(CheckpointError, match=said):
        load_agent(str(agent))


def test_no_training_goes_on_from_an_agent(agent, capsys):
    with pytest.raises(CheckpointError, match="neither optimizer nor buffer"):
        ppo.Trainer.load(agent)
    for run in (agent, agent.parent):
        with pytest.raises(SystemExit):
            main(["resume", str(run)])
        assert "no checkpoint of training" in capsys.readouterr().err


STRANGERS = [
    {"algorithm": "stranger", "trainer": "stranger.Trainer"},
    {"config": {"env": {"env_id": "stranger:Env"}}},
    {"config": {"policy": {"name": "stranger:Model"}}},
]


@pytest.mark.parametrize("named", STRANGERS)
def test_code_of_others_is_not_run(agent, named, capsys):
    Path("stranger.py").write_text("open('imported', 'w')")
    changed(agent, json.dumps(catalog.about(agent) | named))
    for words in (["play"], ["import"], ["evaluate"], ["export", "--to", "card"]):
        with pytest.raises(SystemExit):
            main([*words, str(agent)])
        assert "names code that does not come with yieldrl" in capsys.readouterr().err
    assert not Path("imported").exists()


def test_a_card_says_how_the_agent_was_made_and_what_it_reached(agent, monkeypatch):
    """Its first film, of another agent, does not stay where there is none."""
    Path("card").mkdir()
    Path("card/replay.mp4").touch()

    def record(*_, **__):
        raise ImportError("no encoder here")

    monkeypatch.setattr(card, "record_video", record)
    with restoring.player(agent, 3, "cpu") as player:
        evaluation, reason = write_card(player, "card", 3, 7)
        returns = player.evaluator.play(player.agent, 3, 7).returns
    assert reason == "no encoder here"
    said = json.loads(Path("card/evaluation.json").read_text())
    assert said == evaluation
    assert (said["returns"], said["seed"]) == (returns.tolist(), 7)
    _, head, text = Path("card/README.md").read_text().split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["library_name"] == "yieldrl"
    assert {"CartPole-v1", "reinforcement-learning"} < {*front["tags"]}
    (result,) = front["model-index"][0]["results"]
    value = f"{returns.mean():.2f} +/- {returns.std():.2f}"
    (metric,) = result["metrics"]
    assert (metric["type"], metric["value"]) == ("mean_reward", value)
    assert f"**{value}**" in text
    assert "No film: no encoder here." in text
    assert not Path("card/replay.mp4").exists()
    known = catalog.about(Path("card/model.safetensors"))
    assert known["evaluation"]["episode_return"] == returns.mean()
    assert "run_root" not in Path("card/config.yaml").read_text()
    main(["train", "--config", "card/config.yaml", "--print-config"])


def test_a_card_of_the_hub_becomes_a_run(agent, monkeypatch, capsys):
    """It is downloaded without anything that could be a program, and lies below `runs`,
    whatever its config says."""
    main(["export", str(agent), "--to", "card", "--episodes", "2", "--out", "card"])
    about = catalog.about(agent)
    about["config"]["trainer"]["run_root"] = str(agent.parent / "elsewhere")
    changed(Path("card/model.safetensors"), json.dumps(about))
    Path("card/evil.py").touch()
    asked = []

    def download(name, allow_patterns):
        asked.append((name, sorted(allow_patterns)))
        if name == "nobody/gone":
            raise OSError("404")
        return "card"

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    main(["import", "somebody/ppo-CartPole", "--run-name", "theirs"])
    assert asked == [("somebody/ppo-CartPole", sorted(card.CARD))]
    files = {path.name for path in Path("runs/theirs").iterdir()}
    own = {".lock", "owner.json", "run.json", "config.yaml"}
    assert files - own <= {*card.CARD}
    assert files >= own | {"README.md", "evaluation.json", "model.safetensors"}
    assert "elsewhere" not in Path("runs/theirs/config.yaml").read_text()
    capsys.readouterr()
    for words in ("evaluate", "play", "export", "status"):
        main([words, "runs/theirs"])
        assert "model.safetensors" in capsys.readouterr().out
    for source, message in {
        "nobody/gone": "nor USER/REPOSITORY on the hub (404)",
        "nothing": "nothing: no folder or file here",
    }.items():
        with pytest.raises(SystemExit):
            main(["import", source])
        assert message in capsys.readouterr().err
