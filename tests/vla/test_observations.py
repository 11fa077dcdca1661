"""What a model reads of observations, and latents that stand for them."""

import numpy as np
import pytest
import torch
from fake_vla import CAMERA, SPACE, TEXT, FakeBackbone, observe
from gymnasium.spaces import Box, Dict, Discrete
from tensordict import TensorDict

from yieldrl.core.text import decode
from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.imagination.imagining import alike_in_entries
from yieldrl.vla import ObservationReader, VLAConfig, VLAModel, VLAPolicy, vla_space
from yieldrl.vla.observations import PROMPT, is_latent

HAND = Box(0, 255, (3, 6, 6), np.uint8)  # channels first
STATE = Box(-1, 1, (2, 2))


def reader(space, keys=None, instruction=""):
    return ObservationReader(space, keys or {}, instruction)


def test_other_names_are_mapped_and_the_rest_left_out():
    space = Dict({"pixels": CAMERA, "agent_pos": STATE, "time": Discrete(3)})
    keys = {"rgb": "pixels", "proprio": "agent_pos"}
    obs = observe(2, space=space)
    read = reader(space, keys, "push it")(obs)
    assert set(read.keys()) == {"rgb", "proprio", "language"}
    assert torch.equal(read["proprio"], obs["agent_pos"].reshape(2, 4))
    assert decode(read["language"]) == ["push it", "push it"]
    # The space of what is read reads itself.
    space = Dict({"pixels": CAMERA, "task": TEXT, "body": STATE})
    keys = {"rgb": "pixels", "language": "task", "proprio": "body"}
    once = vla_space(space, keys)
    assert once["proprio"].shape == (4,)
    assert once["language"] is TEXT
    assert vla_space(once, keys) == once
    assert vla_space(once, {}) == once


def test_cameras_are_nested_and_their_channels_last():
    space = Dict({"eyes": CAMERA, "images": Dict({"hand": HAND})})
    keys = {"rgb.head": "eyes", "rgb.wrist": "images.hand"}
    images = torch.randint(0, 255, (2, 3, 6, 6), dtype=torch.uint8)
    obs = {"eyes": torch.zeros(2, 8, 8, 3), "images": {"hand": images}}
    read = reader(space, keys)(obs)
    assert set(read["rgb"].keys()) == {"head", "wrist"}
    assert torch.equal(read["rgb", "wrist"], images.permute(0, 2, 3, 1))
    whole = vla_space(space, keys)
    assert whole["rgb"]["wrist"] == Box(0, 255, (6, 6, 3), np.uint8)
    nested = reader(Dict({"rgb": space["images"]}))({"rgb": obs["images"]})
    assert nested["rgb", "hand"].shape == (2, 6, 6, 3)


@pytest.mark.parametrize(
    ("space", "name"), [(CAMERA, "rgb"), (HAND, "rgb"), (STATE, "proprio")]
)
def test_observations_that_are_no_dict(space, name):
    obs = torch.from_numpy(np.stack([space.sample(), space.sample()]))
    assert set(reader(space)(obs).keys()) == {name, "language"}
    assert set(vla_space(space, {})) == {name, "language"}


def test_proprioception_alone_of_observations_with_more_axes():
    obs = {"body": torch.zeros(5, 2, 2, 2), "rgb": torch.zeros(5, 2, 8, 8, 3)}
    space = Dict({"rgb": CAMERA, "body": STATE})
    assert reader(space, {"proprio": "body"}).proprio(obs).shape == (5, 2, 4)
    assert reader(space).proprio(obs) is None


WRONG = [
    (Dict({"pixels": CAMERA}), {}, "say which is which"),
    (Dict({"pixels": CAMERA}), {"rgb": "image"}, r"'image': observations have.*pixels"),
    (Dict({"rgb": STATE}), {}, "rgb comes from rgb of Box.*images"),
    (Discrete(3), {}, "comes from observations of"),
]


@pytest.mark.parametrize(("space", "keys", "message"), WRONG)
def test_what_no_model_reads_is_refused(space, keys, message):
    with pytest.raises(ValueError, match=message):
        reader(space, keys)


@pytest.mark.parametrize(
    ("space", "given", "read"),
    [
        (Box(0, 1, (6, 6, 3), np.uint8), [0, 1], [0, 255]),
        (Box(0, 255, (6, 6, 3), np.int64), [0, 7, 255], [0, 7, 255]),
        (Box(0, 65535, (3, 6, 6), np.uint16), [0, 257, 65535], [0, 1, 255]),
    ],
)
def test_colours_of_integers_become_bytes(space, given, read):
    """Models divide bytes by 255, and buffers keep integers as float32."""
    reader = ObservationReader(space, {})
    images = torch.tensor(given).view(-1, 1, 1, 1).expand(-1, *space.shape)
    for dtype in (torch.int64, torch.float32):
        seen = reader(images.to(dtype))["rgb"]
        assert seen.dtype == torch.uint8
        assert seen[:, 0, 0, 0].tolist() == read
    own = vla_space(space, {})
    assert own["rgb"] == Box(0, 255, (6, 6, 3), np.uint8)
    assert vla_space(own, {}) == own


def test_colours_of_floats_and_depths_of_integers_are_at_most_one():
    """Depths in floats stay as they are."""
    shape = (6, 6, 3)
    space = Dict(rgb=Box(0, 255, shape, np.float32), depth=Box(0, 9, (6, 6, 1)))
    given = {
        "rgb": torch.full((2, *shape), 51.0),
        "depth": torch.full((2, 6, 6, 1), 4.0),
    }
    seen = ObservationReader(space, {})(given)
    assert seen["rgb"].unique().tolist() == pytest.approx([0.2])
    assert seen["depth"].unique().tolist() == [4.0]
    assert vla_space(space, {})["rgb"] == Box(0, 1, shape, np.float32)
    space = Dict(depth=Box(0, 1000, (6, 6, 1), np.uint16))
    seen = ObservationReader(space, {})({"depth": torch.full((2, 6, 6, 1), 250)})
    assert seen["depth"].unique().tolist() == pytest.approx([0.25])


SMALL = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}


def tiny(batch=6, **options):
    """Of grids with a sentence, some of which is a word longer than others."""
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    envs = GoToVectorEnv(batch, height=3, width=3, view="pixels")
    torch.manual_seed(0)
    config = VLAConfig(model_config=SMALL, **options)
    spaces = envs.single_observation_space, envs.single_action_space
    obs, _ = envs.reset(seed=0)
    return VLAPolicy.from_config(*spaces, config).eval(), obs


@pytest.mark.parametrize("decoding", ["parallel", "autoregressive"])
def test_a_policy_takes_them_in_place_of_observations(decoding):
    policy, obs = tiny(decoding=decoding)
    latents, action = policy.latents(obs), torch.tensor([0, 1, 2, 3, 0, 1])
    assert is_latent(latents)
    assert not is_latent(obs)
    assert torch.equal(policy.get_value(latents), policy.get_value(obs))
    pairs = [policy.evaluate_actions(x, action) for x in (latents, obs)]
    assert all(map(torch.equal, *pairs))
    drawn = [
        policy.sample(x, torch.Generator().manual_seed(3))[0] for x in (latents, obs)
    ]
    assert torch.equal(*drawn)
    assert policy.latents(latents) is latents


def test_they_say_what_is_seen():
    """Nine patches behind the first token; the rest is the sentence."""
    policy, obs = tiny()
    latents = policy.latents(obs)
    size = latents["mask"].shape[1]
    seen = [0 < i < 10 for i in range(size)]
    assert latents["changing"].tolist() == [seen] * 6
    other = policy.latents({**obs, "rgb": obs["rgb"].flip(0)})
    same = (latents[PROMPT] == other[PROMPT]).all(-1)
    assert same[:, torch.tensor(seen).logical_not()].all()
    assert not same[0, 1:10].all()


def test_hidden_positions_behind_them_change_nothing():
    policy, obs = tiny()
    latents = policy.latents(obs)
    rows = TensorDict(obs=latents.unsqueeze(1), batch_size=[6, 1])
    more = latents.copy()
    more[PROMPT] = torch.nn.functional.pad(more[PROMPT], (0, 0, 0, 3))
    for name in ("mask", "changing"):
        more[name] = torch.nn.functional.pad(more[name], (0, 3))
    others = TensorDict(obs=more.unsqueeze(1), batch_size=[6, 1])
    longer = alike_in_entries([rows, others])[0]["obs"].squeeze(1)
    assert longer["mask"].shape[1] == latents["mask"].shape[1] + 3
    torch.testing.assert_close(policy.get_value(longer), policy.get_value(latents))


def test_a_backbone_that_does_not_say_what_it_sees_is_refused():
    model = VLAModel(FakeBackbone(), SPACE, Box(-1, 1, (2,)), VLAConfig(action_bins=8))
    policy = VLAPolicy(SPACE, Box(-1, 1, (2,)), model)
    with pytest.raises(TypeError, match="has no backbone with a method embed_parts"):
        policy.latents(observe())
