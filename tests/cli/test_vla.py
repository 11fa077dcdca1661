"""A model of one's own from the document's JSON, into PPO and into vla_ppo."""

import json
import sys
from pathlib import Path

import pytest
import torch
import yaml
from founding_document import VLA_CONFIG

from yieldrl.algorithms import ppo
from yieldrl.cli import main, options
from yieldrl.vla import VLAPolicy

# BatchNorm makes trainers warn, and is of no account here.
pytestmark = pytest.mark.filterwarnings("ignore:.*compute something else in train mode")

MODELS = """
import torch
from frozen_vla import Seeing
from torch import nn


class GPTVLAModel(Seeing):
    def __init__(self, vision_encoder, language_model, freeze_vision_encoder):
        assert (vision_encoder, language_model) == ("resnet50", "gpt2-medium")
        super().__init__("InstanceNorm2d", freeze_vision_encoder)
        self.mean, self.log_std = nn.Linear(8, 7), nn.Parameter(torch.zeros(7))
"""

ARM = """
import frozen_vla
from gymnasium.spaces import Box


class Arm(frozen_vla.Arm):
    action_space = Box(-1, 1, (7,))
"""

DOCUMENT = {
    "trainer": {"buffer_type": "vla", "buffer_size": 16},
    "policy": {
        "name": "vla",
        "action_dim": 7,
        "vla_config": VLA_CONFIG,
    },
    "algorithm": {"name": "ppo", "cfg": {"learning_rate": 1e-5}},
}
"""The document's example; its dots are left out, and its buffer is shorter."""

HERE = {"env": {"id": "arm_of_mine:Arm", "num_envs": 2}}
SHORT = ("--total-steps", "64", "--eval-every", "0", "--device", "cpu")


@pytest.fixture
def weights(monkeypatch):
    """Both modules in the working directory, and weights that were trained before."""
    Path("vla_models.py").write_text(MODELS)
    Path("arm_of_mine.py").write_text(ARM)
    Path("checkpoints").mkdir()
    monkeypatch.syspath_prepend(Path.cwd())
    own = {}
    exec(compile(MODELS, "vla_models.py", "exec"), own)
    torch.manual_seed(5)
    state = own["GPTVLAModel"]("resnet50", "gpt2-medium", False).state_dict()
    torch.save(state, "checkpoints/pretrained_vla_model.pth")
    yield state
    for name in ("vla_models", "arm_of_mine"):
        sys.modules.pop(name, None)


def write(**blocks):
    Path("my_config.json").write_text(json.dumps({**DOCUMENT, **HERE, **blocks}))
    return "my_config.json"


def test_the_document_trains_as_it_stands(weights):
    command = options.parse(None, ["--config", write(), "--trust"], "yieldrl train")
    assert command.spec.trainer_class is ppo.Trainer
    assert command.config.collection == "async"
    assert command.config.num_steps == 16
    with command.spec.trainer_class(command.config, **command.spec.parts()) as trainer:
        model = trainer.model
        assert isinstance(model, VLAPolicy)
        for name, tensor in model.model.state_dict().items():
            assert torch.equal(tensor, weights[name])
    words = ("--run-name", "one", "--num-minibatches", "2")
    main(["train", "--config", "my_config.json", "--trust", *SHORT, *words])
    written = yaml.safe_load(Path("runs/one/config.yaml").read_text())
    assert written["policy"]["cfg"]["vla_config"]["model_class"].startswith("vla_mod")
    main(["resume", "runs/one", "--total-steps", "96", "--trust"])
    assert "train,96,24,approx_kl" in Path("runs/one/logs.csv").read_text()


def test_vla_ppo_reads_the_same_blocks(weights):
    file = write(algorithm={"name": "vla_ppo", "cfg": {"demonstration_steps": 0}})
    command = options.parse(None, ["--config", file, "--trust"], "yieldrl train")
    assert command.config.model_class == "vla_models.GPTVLAModel"
    words = ("--run-name", "two", "--num-minibatches", "2")
    main(["train", "--config", file, "--trust", *SHORT, *words])
    again = ["--trust", "--run-name", "three"]
    main(["train", "--config", "runs/two/config.yaml", *again])
    one, two = (Path(f"runs/{name}/logs.csv").read_text() for name in ("two", "three"))
    assert len(one.splitlines()) == len(two.splitlines()) > 8


def test_the_size_of_actions_is_checked(weights, refused):
    for name, cfg in (("ppo", {}), ("vla_ppo", {"demonstration_steps": 0})):
        policy = {**DOCUMENT["policy"], "action_dim": 6}
        algorithm = {"name": name, "cfg": cfg}
        file = write(policy=policy, algorithm=algorithm, env={"id": "arm_of_mine:Arm"})
        assert "action_dim = 6" in refused("train", "--config", file, "--trust", *SHORT)
