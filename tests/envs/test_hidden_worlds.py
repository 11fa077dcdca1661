"""The ready worlds of hidden parameters, of physics too."""

from functools import partial

import gymnasium
import pytest
import torch
from worlds import goes_on_bitwise

from yieldrl.envs import HiddenParameters, expert_actions, hidden_worlds

WORLDS = {
    "Pendulum": hidden_worlds.PENDULUM,
    "CartPole": hidden_worlds.CART_POLE,
    "Hopper": hidden_worlds.ROBOT,
    "HalfCheetah": hidden_worlds.ROBOT,
}
ROBOTS = ("Hopper", "HalfCheetah")


def made(name, count=4, **kwargs):
    if name in ROBOTS:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        kwargs = {"threads": 1, **kwargs}
    return gymnasium.make_vec(f"yieldrl/Hidden{name}-v1", num_envs=count, **kwargs)


@pytest.mark.parametrize("name", WORLDS)
def test_ranges_and_what_is_held_out(name):
    ranges, held_out = WORLDS[name].values()
    assert ranges.keys() == held_out.keys()
    envs = made(name, 200)
    assert isinstance(envs, HiddenParameters)
    assert envs.names == tuple(ranges)
    obs, _ = envs.reset(seed=0)
    assert (obs["privileged"].abs() <= 1).all()
    assert (obs["privileged"].std(0) > 0.5).all()
    outside, _ = made(name, 200, side="held_out").reset(seed=0)
    assert (outside["privileged"].abs() > 1).all()
    assert (outside["privileged"].abs() < 3).all()  # just outside


def test_the_expert_knows_which_way_a_push_goes():
    for side in ("training", "held_out"):
        envs = made("CartPole", 100, side=side)
        envs.reset(seed=0)
        signs = torch.tensor(envs.get_attr("force_mag")).sign()
        assert abs(signs.mean()) < 0.4
        for _ in range(200):
            _, _, terminated, _, _ = envs.step(expert_actions(envs))
            assert not terminated.any()
    env = gymnasium.make("yieldrl/HiddenCartPole-v1")
    env.reset(seed=0)
    assert env.unwrapped.expert() in (0, 1)


def test_setting_some_is_setting_all():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    kwargs = {"num_envs": 3, "threads": 1, "dtype": torch.float64}
    some, full = (gymnasium.make_vec("yieldrl/Hopper-v1", **kwargs) for _ in range(2))
    worlds = (some, full)
    exact = partial(torch.tensor, dtype=torch.float64)
    for world in worlds:
        world.reset(seed=0)
    worlds[0].set_parameters({"mass_scale": exact([0.5, 1.0, 2.0]), "gravity": 9.0})
    new = {"mass_scale": exact([0.7, 0.8, 0.9]), "gravity": 11.0, "gear_scale": 0.6}
    worlds[0].set_parameters(new, torch.tensor([False, True, False]))
    all_at_once = {"mass_scale": exact([0.5, 0.8, 2.0]), "gear_scale": [1.0, 0.6, 1.0]}
    worlds[1].set_parameters({**all_at_once, "gravity": exact([9.0, 11.0, 9.0])})
    worlds[0].set_parameters({"mass_scale": 5.0}, torch.zeros(3, dtype=torch.bool))
    for _ in range(30):
        action = 2 * torch.rand(3, 3, dtype=torch.float64) - 1
        obs, *_ = worlds[0].step(action)
        assert torch.equal(obs, worlds[1].step(action)[0])
    with pytest.raises(ValueError, match="mass_scale = 0"):
        worlds[0].set_parameters({"mass_scale": 0.0})


def test_a_checkpoint_of_physics_goes_on_bitwise():
    goes_on_bitwise(partial(made, "Hopper", 3), [torch.full((3, 3), 0.5)] * 120, 40)


def test_worlds_that_show_their_masses_at_first_are_refused():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    envs = gymnasium.make_vec("yieldrl/Humanoid-v1", num_envs=2, threads=1)
    HiddenParameters(envs, {"gear_scale": (0.5, 1.5)})
    with pytest.raises(ValueError, match="first states of HumanoidVectorEnv"):
        HiddenParameters(envs, {"mass_scale": (0.5, 1.5)})
    with pytest.raises(ValueError, match=r"gear_scale = -0\.5: must be positive"):
        HiddenParameters(envs, {"gear_scale": (-0.5, 1.5)})
