"""OpenVLA-OFT's folders: zeroed placeholders, a regression head, a projector."""

import json

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from torch import nn
from vla_folders import (
    CHUNKS,
    OBSERVED,
    openvla_backbone,
    seen,
    write_json,
    write_openvla,
)

from yieldrl.foundations import CheckpointError
from yieldrl.vla import VLAConfig, load_vla_model

EYES = Dict({k: v for k, v in OBSERVED.items() if k != "proprio"})
STOP = 2


class L1RegressionActionHead(nn.Module):
    """Its network, with the names that it has in OpenVLA-OFT's code."""

    def __init__(self, width=32, size=2, inner=10):
        super().__init__()
        self.model = nn.Module()
        self.model.layer_norm1 = nn.LayerNorm(size * width)
        self.model.fc1 = nn.Linear(size * width, inner)
        self.model.mlp_resnet_blocks = nn.ModuleList()
        for _ in range(2):
            block = nn.Module()
            parts = nn.LayerNorm(inner), nn.Linear(inner, inner), nn.ReLU()
            block.ffn = nn.Sequential(*parts)
            self.model.mlp_resnet_blocks.append(block)
        self.model.layer_norm2 = nn.LayerNorm(inner)
        self.model.fc2 = nn.Linear(inner, size)

    def predict_action(self, hidden):
        parts = self.model
        x = hidden.reshape(len(hidden), 2, -1)
        x = torch.relu(parts.fc1(parts.layer_norm1(x)))
        for block in parts.mlp_resnet_blocks:
            x = block.ffn(x) + x
        return parts.fc2(parts.layer_norm2(x))


class ProprioProjector(nn.Module):
    def __init__(self, size=3, width=32):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(size, width), nn.Linear(width, width)

    def forward(self, proprio):
        return self.fc2(nn.functional.gelu(self.fc1(proprio)))


@pytest.fixture(scope="module")
def source():
    return openvla_backbone()


@pytest.fixture
def folder(tmp_path, source):
    write_openvla(tmp_path, source)
    return tmp_path


def save(folder, name, module):
    """As DistributedDataParallel leaves it, which they save."""
    state = {f"module.{k}": v for k, v in module.state_dict().items()}
    torch.save(state, folder / f"{name}--150000_checkpoint.pt")


def say(folder, **changes):
    values = json.loads((folder / "config.json").read_text())
    text = {**values["text_config"], "eos_token_id": STOP}
    write_json(folder / "config.json", {**values, "text_config": text, **changes})


def load(folder, observed=EYES, acted=CHUNKS, seed=1, **fields):
    config = VLAConfig(model_path=str(folder), chunk_length=2, **fields)
    return load_vla_model(config, observed, acted, seed=seed).eval()


@torch.no_grad()
def tokens_hidden(source, obs, proprio=None):
    """Hidden states that its code reads four actions off, of one observation.

    All positions see all; placeholders are zero, a stop token follows; each action is
    read one position before its placeholder.
    """
    embeddings, _ = source.embed(obs)
    if proprio is not None:  # behind the patches, before the sentence
        patches = source.projector(source.vision_backbone(obs)).shape[1]
        parts = (
            embeddings[:, : 1 + patches],
            proprio[:, None],
            embeddings[:, 1 + patches :],
        )
        embeddings = torch.cat(parts, dim=1)
    stop = source.token_embeddings(torch.tensor([[STOP]]))
    zeros = torch.zeros(1, 4, embeddings.shape[2])
    whole = torch.cat([embeddings, zeros, stop], dim=1)
    size = whole.shape[1]
    network = source.language_model.model
    hidden = network(
        inputs_embeds=whole,
        attention_mask=torch.ones(1, 1, size, size, dtype=torch.bool),
    ).last_hidden_state
    first = embeddings.shape[1] - 1
    return hidden[:, first : first + 4]


def test_discrete_actions_are_those_of_its_own_code(folder, source):
    say(folder)
    obs, size = seen(6), source.vocab_size
    wanted = []
    for i in range(6):
        logits = source.logits(tokens_hidden(source, obs[i : i + 1]))
        digit = 1 + logits[..., size - 33 : size].flip(-1).argmax(-1).numpy()
        edges = np.linspace(-1, 1, 33)
        centres = (edges[1:] + edges[:-1]) / 2
        normal = centres[np.clip(digit - 1, 0, 31)].reshape(2, 2)
        wanted.append(normal * [2, 1] + [0, 2])
    wanted = torch.tensor(np.stack(wanted)).float()
    for seed in (1, 2):
        model = load(folder, seed=seed, decoding="parallel")
        acted = model.act(obs, deterministic=True)
        assert torch.allclose(acted.action, wanted, atol=1e-5)
        assert "decoding.placeholders" not in model.state_dict()
        said = model.evaluate(obs, acted.action)
        for one, other in zip(acted, said, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
        value = model.get_value(obs).squeeze(1)
        torch.testing.assert_close(value, acted.value, rtol=1e-5, atol=1e-5)


def test_its_head_and_projector_are_those_of_the_files(folder, source):
    say(folder)
    torch.manual_seed(3)
    head, projector = L1RegressionActionHead(), ProprioProjector()
    save(folder, "action_head", head)
    save(folder, "proprio_projector", projector)
    obs = seen(6)
    normal = (obs["proprio"] / 2).clamp(-1, 1)  # of [-2, 2]
    with torch.no_grad():
        felt = projector(normal)
        wanted = torch.cat(
            [
                head.predict_action(
                    tokens_hidden(source, obs[i : i + 1], felt[i : i + 1])
                )
                for i in range(6)
            ]
        )
    wanted = wanted * torch.tensor([2.0, 1.0]) + torch.tensor([0.0, 2.0])
    for seed in (1, 2):
        model = load(folder, OBSERVED, seed=seed, action_head="gaussian")
        acted = model.act(obs, deterministic=True)
        assert torch.allclose(acted.action, wanted, atol=1e-5)
        said = model.evaluate(obs, acted.action)
        torch.testing.assert_close(acted.log_prob, said.log_prob, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Openvla_OFT_SFT", {}),
        ("plain", {"architectures": ["OpenVLAOFTForActionPrediction"]}),
    ],
)
def test_one_with_discrete_actions_is_known_by_its_name(
    tmp_path, source, name, changes
):
    (tmp_path / name).mkdir()
    say(write_openvla(tmp_path / name, source), **changes)
    model = load(tmp_path / name)
    assert type(model.decoding).__name__ == "ZeroDecoding"
    (tmp_path / "softly").mkdir()
    plain = load(write_openvla(tmp_path / "softly", source))
    assert type(plain.decoding).__name__ == "AutoregressiveDecoding"


def test_a_folder_with_a_projector_is_one_of_oft(folder):
    save(folder, "proprio_projector", ProprioProjector())
    model = load(folder, OBSERVED)
    assert type(model.decoding).__name__ == "ZeroDecoding"
    with pytest.raises(ValueError, match="reads proprioception, and observations have"):
        load(folder)
    save(folder, "proprio_projector", ProprioProjector(size=8))
    with pytest.raises(CheckpointError, match=r"fc1\.weight as \[32, 8\], the model"):
        load(folder, OBSERVED)


def test_what_was_trained_is_never_replaced_in_silence(folder):
    save(folder, "action_head", L1RegressionActionHead())
    with pytest.raises(ValueError, match=r"action_head = 'bins'.*choose 'gaussian'"):
        load(folder)
    with pytest.raises(ValueError, match="regresses numbers, and actions are choices"):
        load(folder, acted=MultiDiscrete([[3, 3]] * 2), action_head="gaussian")
    with pytest.raises(CheckpointError, match=r"layer_norm1\.weight as \[64\], the"):
        load(folder, acted=Box(-1, 1, (2, 3)), action_head="gaussian")
    save(folder, "action_head", nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="not the head that OpenVLA-OFT"):
        load(folder, action_head="gaussian")
    save(folder, "noisy_action_projector", nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="denoises"):
        load(folder)
    (folder / "noisy_action_projector--150000_checkpoint.pt").unlink()
    (folder / "action_head--9_checkpoint.pt").write_bytes(b"")
    with pytest.raises(CheckpointError, match="has 2 files action_head--"):
        load(folder, action_head="gaussian")
