"""A model of one's own from the document's JSON, into PPO and into vla_ppo."""

import json
import sys
from pathlib import Path

import pytest
import torch
import yaml

from yieldrl.algorithms import ppo
from yieldrl.cli import main, options
from yieldrl.vla import VLAPolicy

# What the document asks of whoever brings a model.
MODELS = """
import torch
from torch import nn
from torch.distributions import Independent, Normal

from yieldrl.core.text import decode

WORDS = ("reach", "push", "lift")


class GPTVLAModel(nn.Module):
    def __init__(self, vision_encoder, language_model, freeze_vision_encoder):
        super().__init__()
        assert (vision_encoder, language_model) == ("resnet50", "gpt2-medium")
        self.vision = nn.Linear(8 * 8 * 3, 16).requires_grad_(not freeze_vision_encoder)
        self.words = nn.Embedding(len(WORDS), 16)
        self.head, self.value_head = nn.Linear(16, 7), nn.Linear(16, 1)
        self.log_std = nn.Parameter(torch.zeros(7))

    def _hidden(self, observations):
        said = [WORDS.index(text) for text in decode(observations["language"])]
        image = self.vision(observations["rgb"].flatten(1) / 255)
        return (image + self.words(torch.tensor(said))).tanh()  # [B, W]

    def _policy(self, observations):
        mean = self.head(self._hidden(observations))
        return Independent(Normal(mean, self.log_std.exp()), 1)

    def forward(self, observations, deterministic=False):
        policy = self._policy(observations)
        return policy.mean if deterministic else policy.sample()  # [B, 7]

    def get_value(self, observations):
        return self.value_head(self._hidden(observations))  # [B, 1]

    def evaluate_actions(self, observations, actions):
        policy = self._policy(observations)
        return policy.log_prob(actions), policy.entropy()  # [B], [B]
"""

ARM = '''
import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from yieldrl.core.text import Utf8Text


class Arm(gymnasium.Env):
    """Seven joints, of which the first ought to rest; ten steps long."""

    observation_space = Dict(rgb=Box(0, 255, (8, 8, 3), np.uint8), language=Utf8Text(8))
    action_space = Box(-1, 1, (7,), np.float32)

    def _obs(self):
        word = ("reach", "push", "lift")[self.np_random.integers(3)]
        image = self.np_random.integers(0, 256, (8, 8, 3), np.uint8)
        text = self.observation_space["language"].encode(word)
        return {"rgb": image, "language": np.asarray(text, np.uint8)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 10
        return self._obs(), {}

    def step(self, action):
        self.left -= 1
        return self._obs(), -float(action[0] ** 2), False, self.left == 0, {}
'''

DOCUMENT = {
    "trainer": {"buffer_type": "vla", "buffer_size": 16},
    "policy": {
        "name": "vla",
        "action_dim": 7,
        "vla_config": {
            "model_path": "checkpoints/pretrained_vla_model.pth",
            "model_class": "vla_models.GPTVLAModel",
            "model_config": {
                "vision_encoder": "resnet50",
                "language_model": "gpt2-medium",
                "freeze_vision_encoder": False,
            },
        },
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
