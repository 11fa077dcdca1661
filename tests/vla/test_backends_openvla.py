"""Folders in the layouts of OpenVLA and OpenVLA-OFT become the networks they hold."""

import copy
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

from yieldrl.core import CheckpointError
from yieldrl.vla import VLAConfig, load_vla_model
from yieldrl.vla.backends.openvla import PROMPT, stored_shapes

EYES = Dict({k: v for k, v in OBSERVED.items() if k != "proprio"})


@pytest.fixture(scope="module")
def source():
    return openvla_backbone()


@pytest.fixture
def folder(tmp_path, source):
    return write_openvla(tmp_path, source)


def load(folder, observed=EYES, acted=CHUNKS, seed=1, **fields):
    length = acted.shape[0] if len(acted.shape) == 2 else 1
    config = VLAConfig(model_path=str(folder), chunk_length=length, **fields)
    return load_vla_model(config, observed, acted, seed=seed).eval()


def raised(model, shown, number=slice(None)):
    """The entries that a demonstration of these actions makes more likely."""
    plain, kept = model.backbone.logits, []

    def logits(hidden):
        kept.append(plain(hidden))
        kept[-1].retain_grad()
        return kept[-1]

    model.backbone.logits = logits
    (-model.evaluate(seen(), shown).log_prob[..., number].sum()).backward()
    return (kept[-1].grad < 0).nonzero()[:, -1].unique().tolist()


def test_the_layout_is_that_of_the_hub(folder):
    """Some names of `openvla/openvla-7b`, written down."""
    eyes = ["cls_token", "reg_token", "pos_embed", "patch_embed.proj.weight"]
    eyes += ["blocks.0.attn.qkv.weight", "blocks.0.ls1.scale_factor"]
    names = {f"vision_backbone.featurizer.{name}" for name in eyes}
    names.add("vision_backbone.fused_featurizer.blocks.0.attn.proj.weight")
    names |= {"projector.fc1.weight", "projector.fc3.bias"}
    words = ["model.embed_tokens", "model.layers.1.self_attn.q_proj", "model.norm"]
    names |= {f"language_model.{name}.weight" for name in [*words, "lm_head"]}
    assert names <= stored_shapes(folder).keys()
    tokenizer = load(folder).backbone.tokenizer  # the prompt is that of its training
    text = PROMPT.format("go to the red square")
    expected = [0, *tokenizer.tokenizer.encode(text).ids]
    assert tokenizer.encode("Go to the RED square") == expected


@pytest.mark.parametrize("fused", [True, False])
def test_hidden_states_and_logits_are_those_of_the_network_that_was_saved(
    tmp_path, fused
):
    source = openvla_backbone(fused)
    model = load(write_openvla(tmp_path, source))
    obs = seen().exclude("proprio")
    embeddings, mask = source.embed(obs)
    ours, ours_mask = model.backbone.embed(obs)
    assert torch.equal(ours, embeddings)
    assert torch.equal(ours_mask, mask)
    hidden = source.hidden(embeddings, mask, 5)
    assert torch.equal(model.backbone.hidden(ours, mask, 5), hidden)
    assert torch.equal(model.backbone.logits(hidden), source.logits(hidden))


class TestTheEntryOfAnActionOfOne:
    """`size - 33` here, 31744 in OpenVLA: all that was clipped at q99 lands there."""

    def test_every_entry_comes_back_from_its_action(self, folder):
        for low, high in ((-1, 1), (-2, 3), (0, 1e-3), (99.8, 100), (-1e6, 1e6)):
            head = load(folder).head
            head.statistics.set_range([low] * 2, [high] * 2)
            tokens = torch.arange(33).repeat_interleave(4).view(33, 4)
            action = head.action(tokens)
            assert torch.equal(head.tokens(action), tokens)
            step = 5e-7 * max(abs(low), abs(high))
            assert ((action[32] - action[31]).abs() <= step).all()
            given = torch.tensor([low, high]).float().view(2, 1, 1).expand(2, 2, 2)
            assert head.tokens(given).tolist() == [[0] * 4, [32] * 4]
            assert head.tokens(given * 1.5)[1].tolist() == [32] * 4

    @pytest.mark.parametrize("decoding", ["parallel", "autoregressive"])
    def test_it_is_chosen_and_told_like_every_other(self, folder, source, decoding):
        model, obs = load(folder, decoding=decoding), seen()
        bias = torch.zeros(source.vocab_size + 64)
        bias[source.vocab_size - 33] = 20
        plain = model.backbone.logits
        model.backbone.logits = lambda hidden: plain(hidden) + bias
        with torch.no_grad():
            acted = model.act(obs, deterministic=True)
            said = model.evaluate(obs, acted.action)
        # The centre of the last of 32 bins, of [-2, 2] and of [1, 3].
        wanted = torch.tensor([31 / 32 * 2, 2 + 31 / 32]).expand_as(acted.action)
        torch.testing.assert_close(acted.action, wanted)
        assert acted.log_prob.min() > -1e-3
        torch.testing.assert_close([*acted], [*said], rtol=1e-5, atol=1e-5)

    def test_a_demonstrated_one_makes_it_more_likely_and_no_other(self, folder):
        model = load(folder)
        ones = torch.tensor([2.0, 3.0]).expand(3, 2, 2)
        assert raised(model, ones) == [model.head.vocab_size - 33]

    def test_probabilities_are_those_of_all_entries(self, folder, source):
        """Of 33 actions of one number, which sum to one, as their entropy has it."""
        own = {"action": {"q01": [-2.0], "q99": [2.0]}}
        write_json(folder / "dataset_statistics.json", {"one": own})
        model = load(folder, acted=Box(-2, 2, (1,)), decoding="autoregressive")
        one, size = seen(1), source.vocab_size
        action = model.head.action(torch.arange(33).unsqueeze(1))
        obs = torch.cat([one] * 33)
        with torch.no_grad():
            said = model.evaluate(obs, action)
            hidden = source.hidden(*source.embed(one), None)[:, -1]
            logits = source.logits(hidden)[0, size - 33 : size].flip(0)
        log_prob = logits.log_softmax(0)
        torch.testing.assert_close(said.log_prob.flatten(), log_prob)
        entropy = -(log_prob.exp() * log_prob).sum()
        torch.testing.assert_close(said.entropy.flatten(), entropy.expand(33))


def test_statistics_in_a_file_of_their_own_come_first(folder):
    entry = {"q01": [0.0, 0.0], "q99": [1.0, 1.0]}
    own = {"a": {"action": entry}, "b": {"action": {**entry, "q99": [5.0, 5.0]}}}
    write_json(folder / "dataset_statistics.json", own)
    model = load(folder, model_config={"dataset": "b"})
    assert model.action_statistics.high.tolist() == [5, 5]
    with pytest.raises(ValueError, match=r"choose one of \['a', 'b'\]"):
        load(folder)
    (folder / "dataset_statistics.json").unlink()
    values = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", {**values, "norm_stats": {}})
    with pytest.warns(UserWarning, match=r"lay its dataset_statistics\.json beside"):
        load(folder)


class TestTheGripper:
    """1 opens and 0 closes it in its data, -1 and 1 in LIBERO."""

    @pytest.fixture
    def gripping(self, folder):
        action = {"q01": [-2.0, 0.0], "q99": [2.0, 1.0], "mask": [True, False]}
        write_json(folder / "dataset_statistics.json", {"arm": {"action": action}})
        return folder

    @pytest.mark.parametrize(
        ("command", "edge"), [(1.0, 0.0), (-1.0, 1.0)], ids=["close", "open"]
    )
    def test_cloning_a_command_teaches_the_entry_of_its_meaning(
        self, gripping, command, edge
    ):
        model = load(gripping, acted=Box(-2, 2, (2, 2)))
        shown = torch.tensor([0.1, command]).expand(3, 2, 2)
        digit = np.digitize(edge, np.linspace(-1, 1, 33))
        assert raised(model, shown, 1) == [model.head.vocab_size - digit]

    def test_of_another_environment_it_has_to_be_said(self, gripping):
        acted = Box(0, 1, (2, 2))
        with pytest.raises(ValueError, match=r"say which numbers do.*\[OPEN, CLOSED\]"):
            load(gripping, acted=acted)
        model = load(gripping, acted=acted, model_config={"gripper": [1, 0]})
        assert model.action_statistics.low.tolist() == [-2, -1]
        assert model.action_statistics.high.tolist() == [2, 1]


def test_proprioception_is_read_by_a_new_projector_where_that_is_asked_for(folder):
    own = json.loads((folder / "config.json").read_text())["norm_stats"]
    own["robot"]["proprio"] = {"q01": [-1.0] * 3, "q99": [3.0] * 3}
    write_json(folder / "dataset_statistics.json", own)
    model = load(folder, OBSERVED, model_config={"proprio": True})
    assert model.proprio_statistics.high.tolist() == [3.0] * 3
    output = model.act(seen())
    assert output.action.shape == (3, 2, 2)
    plain, _ = load(folder).backbone.embed(seen())
    assert model.backbone.embed(seen())[0].shape[1] == plain.shape[1] + 1


def generated(source, obs):
    """Actions of one observation, as OpenVLA's own code makes them."""
    embeddings, mask = source.embed(obs)
    assert mask.all()
    with torch.no_grad():
        ids = source.language_model.generate(
            inputs_embeds=embeddings, max_new_tokens=4, do_sample=False
        )
    digit = source.vocab_size - ids.numpy()
    edges = np.linspace(-1, 1, 33)
    centres = (edges[1:] + edges[:-1]) / 2
    normal = centres[np.clip(digit - 1, 0, 31)].reshape(1, 2, 2)
    low, high = np.array([-2, 1]), np.array([2, 3])
    return torch.tensor(0.5 * (normal + 1) * (high - low) + low).float()


def test_it_acts_as_its_own_code_does_whatever_the_seed_and_what_is_observed(
    folder, source
):
    """Its policy is what was trained: nothing of it is drawn anew."""
    bias = torch.zeros(source.vocab_size + 64)
    bias[source.vocab_size - 33 : source.vocab_size] = 1e3  # it makes actions alone
    source = copy.deepcopy(source)
    plain = source.language_model.lm_head.forward
    source.language_model.lm_head.forward = lambda hidden: plain(hidden) + bias
    whole = seen(8)
    wanted = torch.cat([generated(source, whole[i : i + 1]) for i in range(8)])
    assert len(wanted.unique()) > 4
    for observed, seed in ((EYES, 1), (EYES, 2), (OBSERVED, 3)):
        config = VLAConfig(model_path=str(folder), chunk_length=2)
        model = load_vla_model(config, observed, CHUNKS, seed=seed).eval()
        done = model(whole, deterministic=True)
        assert torch.allclose(done, wanted, atol=1e-5)


def test_what_is_missing_is_named_and_pickled_weights_are_none(folder, source):
    part = folder / "part"
    part.mkdir()
    write_openvla(part, source, drop="projector.fc2.bias")
    with pytest.raises(CheckpointError, match=r"lacks projector\.fc2\.bias"):
        load(part)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"model-00002-of-00002\.safetensors"):
        load(folder)
    for file in folder.glob("*.safetensors*"):
        file.unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="pickled weights are never loaded"):
        load(folder)


def test_pixels_are_normalized_as_the_folder_says(folder):
    write_json(
        folder / "preprocessor_config.json",
        {"means": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "stds": [[1, 1, 1], [2, 2, 2]]},
    )
    vision = load(folder).backbone.vision_backbone
    mean = vision.featurizer.mean.flatten()
    assert torch.allclose(mean, torch.tensor([0.1, 0.2, 0.3]))
    assert (vision.fused_featurizer.std == 2).all()


def test_choices_have_no_units_and_unbounded_actions_those_of_the_folder(folder):
    free = Box(-float("inf"), float("inf"), (2, 2))
    action = load(folder, acted=free).act(seen()).action
    assert (action[..., 1] >= 1).all()
    assert (action[..., 1] <= 3).all()
    model = load(folder, acted=MultiDiscrete([[3, 4]] * 2))
    assert model.action_statistics is None
    action = model.act(seen(), generator=torch.Generator().manual_seed(0)).action
    assert (action < torch.tensor([3, 4])).all()


def test_of_several_cameras_it_says_which_it_was_trained_for(folder):
    eyes = Dict(rgb=Dict(top=EYES["rgb"], wrist=EYES["rgb"]), language=EYES["language"])
    with pytest.warns(UserWarning, match=r"to see one image.*{'rgb': 'rgb\.top'}"):
        load(folder, eyes)
    load(folder, eyes, action_head="gaussian")  # OpenVLA-OFT sees several


def test_a_gaussian_without_its_file_is_not_drawn_at_random_either(folder):
    """Its means are the middles of [-2, 2] and [1, 3]."""
    for seed in (1, 2):
        model = load(folder, OBSERVED, seed=seed, action_head="gaussian")
        done = model(seen(), deterministic=True)
        assert torch.equal(done, torch.tensor([0.0, 2.0]).expand(3, 2, 2))


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


def save(folder, name, module):
    """As DistributedDataParallel leaves it, which they save."""
    state = {f"module.{k}": v for k, v in module.state_dict().items()}
    torch.save(state, folder / f"{name}--150000_checkpoint.pt")


def say(folder, **changes):
    values = json.loads((folder / "config.json").read_text())
    text = {**values["text_config"], "eos_token_id": STOP}
    write_json(folder / "config.json", {**values, "text_config": text, **changes})


@torch.no_grad()
def tokens_hidden(source, obs, proprio=None):
    """Hidden states that its code reads four actions off, of one observation.

    All positions see all; placeholders are zero, a stop token follows; each action is
    read one position before its placeholder.
    """
    embeddings, _ = source.embed(obs)
    if proprio is not None:  # behind the patches, before the sentence
        patches = source.projector(source.vision_backbone(obs)).shape[1]
        first, rest = embeddings.split(
            (1 + patches, embeddings.shape[1] - 1 - patches), 1
        )
        embeddings = torch.cat((first, proprio[:, None], rest), dim=1)
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
        torch.testing.assert_close([*acted], [*said], rtol=1e-5, atol=1e-5)
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
        rows = zip(obs.split(1), projector(normal).split(1), strict=True)
        hidden = torch.cat([tokens_hidden(source, *row) for row in rows])
        wanted = head.predict_action(hidden)
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


def test_a_folder_with_a_projector_is_one_of_oft(folder):
    assert type(load(folder).decoding).__name__ == "AutoregressiveDecoding"
    save(folder, "proprio_projector", ProprioProjector())
    model = load(folder, OBSERVED)
    assert type(model.decoding).__name__ == "ZeroDecoding"
    with pytest.raises(ValueError, match="reads proprioception, and observations"):
        load(folder)
    save(folder, "proprio_projector", ProprioProjector(size=8))
    with pytest.raises(CheckpointError, match=r"fc1\.weight: .*\[32, 8\]"):
        load(folder, OBSERVED)


def test_what_was_trained_is_never_replaced_in_silence(folder):
    save(folder, "action_head", L1RegressionActionHead())
    with pytest.raises(ValueError, match=r"action_head = 'bins'.*choose 'gaussian'"):
        load(folder)
    with pytest.raises(
        ValueError, match=r"choose 'gaussian', .* in an environment of numbers"
    ):
        load(folder, acted=MultiDiscrete([[3, 3]] * 2), action_head="gaussian")
    with pytest.raises(CheckpointError, match=r"layer_norm1\.weight: .*\[64\]"):
        load(folder, acted=Box(-1, 1, (2, 3)), action_head="gaussian")
    save(folder, "action_head", nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="not the head that OpenVLA-OFT"):
        load(folder, action_head="gaussian")
    save(folder, "noisy_action_projector", nn.Linear(2, 2))
    with pytest.raises(CheckpointError, match="denoises"):
        load(folder)
    (folder / "noisy_action_projector--150000_checkpoint.pt").unlink()
    (folder / "action_head--9_checkpoint.pt").write_bytes(b"")
    with pytest.raises(CheckpointError, match="has several action_head"):
        load(folder, action_head="gaussian")
