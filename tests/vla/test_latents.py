"""What stands for an observation: all that a model says of it is the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from fake_vla import SPACE, FakeBackbone
from gymnasium.spaces import Box

from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.vla import VLAConfig, VLAModel, VLAPolicy
from yieldrl.vla.latents import PROMPT, is_latent, latents_of, padded

SMALL = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}


def tiny(batch: int = 6, **options) -> tuple[VLAPolicy, Any]:
    """Of grids with a sentence, some of which is a word longer than others."""
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    envs = GoToVectorEnv(batch, height=3, width=3, view="pixels")
    torch.manual_seed(0)
    config = VLAConfig(model_config=SMALL, **options)
    spaces = envs.single_observation_space, envs.single_action_space
    obs, _ = envs.reset(seed=0)
    return VLAPolicy.from_config(*spaces, config).eval(), obs


@pytest.mark.parametrize("decoding", ["parallel", "autoregressive"])
def test_a_policy_takes_them_in_place_of_observations(decoding: str) -> None:
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


def test_they_say_what_is_seen() -> None:
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


def test_hidden_positions_behind_them_change_nothing() -> None:
    policy, obs = tiny()
    latents = policy.latents(obs)
    longer = padded(latents, latents["mask"].shape[1] + 3)
    assert longer["mask"].shape[1] == latents["mask"].shape[1] + 3
    torch.testing.assert_close(policy.get_value(longer), policy.get_value(latents))


def test_a_backbone_that_does_not_say_what_it_sees_is_refused() -> None:
    model = VLAModel(FakeBackbone(), SPACE, Box(-1, 1, (2,)), VLAConfig(action_bins=8))
    with pytest.raises(TypeError, match="has no backbone with a method embed_parts"):
        latents_of(model, None)
